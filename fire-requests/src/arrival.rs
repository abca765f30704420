//! When bytes arrived at this machine: the system's own stamp, where it gives one.
//!
//! A read returns when the event loop has come to it, which is later than the bytes came. Linux stamps each packet as
//! it enters the network stack (`SO_TIMESTAMPNS`, [socket(7)]) and hands out, with what is read, the stamp of its last
//! packet. So an event that is read before the next one comes has its own time, however busy the client is, and how late
//! a read was is known, not guessed. Events that are read together have the time of the last of them; so have packets
//! that the system has joined while they waited.
//!
//! [socket(7)]: https://man7.org/linux/man-pages/man7/socket.7.html

use std::{io, os::fd::RawFd, time::Duration};

/// Asks the system to stamp what arrives on a socket. Where it cannot, reads are stamped when they return.
pub(crate) fn ask(socket: RawFd) {
    #[cfg(target_os = "linux")]
    {
        let (on, size) = (1_i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: the option's value is an int, of the size that is given; a failure changes nothing.
        unsafe {
            libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, (&raw const on).cast(), size)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// Reads what is there, at most `buffer`. Returns how many bytes, and how long ago the last of them arrived, if the
/// system says so.
#[cfg(target_os = "linux")]
pub(crate) fn receive(socket: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    /// Room for one stamp, aligned like the header before it.
    #[repr(align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeroes are an empty message header.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (control.0.as_mut_ptr().cast(), control.0.len());
    // SAFETY: the message points at `buffer` and `control`, which live as long as the call, with their sizes.
    let count = unsafe { libc::recvmsg(socket, &raw mut message, libc::MSG_DONTWAIT) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    Ok((count, stamp(&message).map(|stamp| now().saturating_sub(stamp))))
}

/// Elsewhere, only a read's return is known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn receive(socket: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    // SAFETY: the pointer and the length are those of `buffer`.
    let count = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
    usize::try_from(count).map(|count| (count, None)).map_err(|_| io::Error::last_os_error())
}

#[cfg(target_os = "linux")]
fn stamp(message: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the header is one that the system has filled in.
    let first = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    if (first.cmsg_level, first.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: the data of a message of this type is a `timespec`; it may lie unaligned.
    let time = unsafe { libc::CMSG_DATA(first).cast::<libc::timespec>().read_unaligned() };
    duration(time)
}

/// The clock that the system stamps with. It is read right after the stamp and only the difference is used, so that
/// setting it can harm no more than one read.
#[cfg(target_os = "linux")]
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; a failure leaves it zero.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    duration(time).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn duration(time: libc::timespec) -> Option<Duration> {
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        io::Write,
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd,
        thread,
    };

    use super::*;

    #[test]
    fn a_late_read_knows_how_late_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        ask(receiver.as_raw_fd());
        let mut buffer = [0; 16];
        let empty = receive(receiver.as_raw_fd(), &mut buffer).unwrap_err();
        assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        // The first socket of a system that asks makes it begin to stamp, which may take a moment.
        for _ in 0..20 {
            sender.write_all(b"abc").unwrap();
            thread::sleep(Duration::from_millis(30));
            let (count, age) = receive(receiver.as_raw_fd(), &mut buffer).unwrap();
            assert_eq!(&buffer[..count], b"abc");
            if let Some(age) = age {
                assert!((30..30_000).contains(&age.as_millis()), "{age:?}");
                return;
            }
        }
        panic!("never stamped");
    }
}
