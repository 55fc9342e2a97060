// Package timerslack lets Linux wake the threads of the process up to a millisecond late when they sleep, so that a
// busy server spends less time on waking up. A program imports it for this effect only.
//
// Go's runtime has a thread that looks for blocked threads, called sysmon. While the process does anything, sysmon
// sleeps for 20 µs at a time, and Linux adds 50 µs, the usual slack of timers. In a server that syncs its log hundreds
// of times a second, this thread alone took 9 % of the CPU time. With a slack of a millisecond it takes almost none.
//
// A thread gets its slack from the thread that starts it. So it has to be set before Go's runtime starts sysmon, which
// only C code can do. A slack other than the usual one is kept, because then the operator has chosen it (TimerSlackNSec
// of systemd).
package timerslack
