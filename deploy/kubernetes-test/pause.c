/* The program of a pod's first container: it holds the namespaces, and reaps what is left over. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int s) { (void)s; _exit(0); }
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0) {} }

int main(void)
{
	signal(SIGINT, end);
	signal(SIGTERM, end);
	signal(SIGCHLD, reap);
	for (;;) pause();
}
