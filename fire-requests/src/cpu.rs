//! CPU time, of the process and of a thread; and how long a thread waited for a CPU.

use std::{
    fs,
    mem::MaybeUninit,
    ops::Sub,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// What a thread has had of the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// Time that it ran.
    pub(crate) cpu: Duration,
    /// Time that it could have run and no CPU was free for it; nothing where the system does not say.
    pub(crate) waiting: Duration,
}

impl Sub for Usage {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            waiting: self.waiting.saturating_sub(before.waiting),
        }
    }
}

/// A thread's usage, as it has noted it last.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    cpu_ns: AtomicU64,
    waiting_ns: AtomicU64,
}

impl Meter {
    /// Notes the usage of the thread that calls.
    pub(crate) fn update(&self) {
        self.cpu_ns.store(of_thread().as_nanos() as u64, Relaxed);
        self.waiting_ns.store(waiting().as_nanos() as u64, Relaxed);
    }

    /// The usage noted last.
    pub(crate) fn read(&self) -> Usage {
        let time = |ns: &AtomicU64| Duration::from_nanos(ns.load(Relaxed));
        Usage { cpu: time(&self.cpu_ns), waiting: time(&self.waiting_ns) }
    }
}

/// CPU time of this process, user and system.
pub(crate) fn of_process() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing, and zeroes are a valid `rusage` if the call writes nothing.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |part: libc::timeval| Duration::new(part.tv_sec as u64, part.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// CPU time of this thread.
fn of_thread() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; a failure leaves it zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The second number of Linux's schedstat: time spent waiting on a run queue, in ns.
fn waiting() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen() {
        let meter = Meter::default();
        meter.update();
        let before = meter.read();
        while of_thread() < before.cpu + Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        meter.update();
        let spent = meter.read() - before;
        assert!(spent.cpu >= Duration::from_millis(20), "{spent:?}");
        assert!(of_process() >= spent.cpu);
    }
}
