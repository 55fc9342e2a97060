package timerslack

/*
#include <sys/prctl.h>

// Before Go's runtime starts, the process has one thread.
__attribute__((constructor)) static void cw_set_timer_slack(void) {
	enum { usual_ns = 50 * 1000, ns = 1000 * 1000 };
	if (prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == usual_ns) {
		prctl(PR_SET_TIMERSLACK, ns, 0, 0, 0); // if it fails, only time is lost
	}
}
*/
import "C"
