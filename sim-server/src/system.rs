//! What the server asks of the operating system.

use records::{Error, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Raises the limit of open files to what is allowed without privileges: each stream is a socket.
pub(crate) fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only read or write the struct they are given. If they fail the limit stays as it was.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Lets the calling thread wake when it asked to: Linux otherwise adds up to 50 µs to batch wake-ups.
pub(crate) fn wake_precisely() {
    #[cfg(target_os = "linux")]
    // SAFETY: sets a number of the calling thread; no memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64);
    }
}

/// Completes at the first SIGINT or SIGTERM from now on.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>> {
    let hook = |kind| signal(kind).map_err(|source| Error::read("signals", source));
    let (mut interrupt, mut terminate) = (hook(SignalKind::interrupt())?, hook(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
