//! Open files: each request in flight needs a socket.

use records::{Error, Result};

/// Files that are open besides: input, output, event loops, probes, what the system itself needs.
const BESIDES: u64 = 64;

/// Lifts the soft limit of open files to the hard one.
pub(crate) fn raise_limit() {
    if let Some(mut limit) = limit() {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the call is given a valid `rlimit`; a failure leaves the limit as it was.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}

/// Fails if `requests` at once would need more open files than there may be.
pub(crate) fn check(requests: usize) -> Result<()> {
    let allowed = limit().map_or(u64::MAX, |limit| limit.rlim_cur);
    problem(requests as u64, allowed).map_or(Ok(()), |problem| Err(Error::usage(problem)))
}

fn problem(requests: u64, allowed: u64) -> Option<String> {
    let needed = requests.saturating_add(BESIDES);
    (needed > allowed).then(|| {
        format!(
            "{requests} requests at once need {needed} open files, but the system allows {allowed}; raise that (ulimit \
             -Hn {needed}, as root), or lower --max-concurrency"
        )
    })
}

fn limit() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (failed == 0).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_are_named_with_the_remedy() {
        assert_eq!(problem(900, 1024), None);
        let problem = problem(1000, 1024).unwrap();
        assert!(
            problem.contains("need 1064 open files") && problem.contains("--max-concurrency"),
            "{problem}"
        );
    }
}
