//! A client of tempod for Rust, with the standard library only: the JSON lines of doc/reference/control-protocol.md.
//!
//! A lock is held for as long as its lease lasts: check `remaining` before each step, and give the resource the token. A
//! `Lock` borrows its connection: a program that holds two locks opens two.
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub const DEFAULT_SOCKET: &str = "/run/tempo/tempod.sock";
const TIMEOUT: Duration = Duration::from_secs(5); // longest wait for a reply
const MAX_LINE: usize = 4 << 20; // bytes of one reply
#[derive(Debug)]
pub enum Error {
    /// tempod cannot be reached, or its reply is not valid.
    NoDaemon(String),
    /// tempod refused the request: the code of the protocol and a sentence with cause and cure.
    Refused { code: String, message: String },
    TimedOut,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (Error::NoDaemon(message) | Error::Refused { message, .. }) = self else {
            return f.write_str("timed out; 'tempo locks' shows the holder");
        };
        f.write_str(message)
    }
}
impl std::error::Error for Error {}
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error { Error::NoDaemon(format!("cannot talk to tempod ({error}); connect again")) }
}

/// Network time is between `earliest_ns` and `latest_ns`, nanoseconds since 1970, unless `status` is "unsynchronized".
#[derive(Debug, Clone, PartialEq)]
pub struct Now {
    pub time_ns: i64,
    pub earliest_ns: i64,
    pub latest_ns: i64,
    pub status: String,
}

pub struct Daemon {
    stream: UnixStream,
    input: Vec<u8>,
    last_id: i64,
}

impl Daemon {
    pub fn connect(path: &str) -> Result<Daemon, Error> {
        let stream = UnixStream::connect(path)
            .map_err(|error| Error::NoDaemon(format!("cannot connect to tempod at {path} ({error}); start it")))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Daemon { stream, input: Vec::new(), last_id: 0 })
    }

    pub fn now(&mut self) -> Result<Now, Error> {
        let reply = self.ask(r#"{"v":1,"do":"now"}"#)?;
        let number = |name| reply.get("now").get(name).integer();
        Ok(Now {
            time_ns: number("time_ns").ok_or_else(invalid)?,
            earliest_ns: number("earliest_ns").ok_or_else(invalid)?,
            latest_ns: number("latest_ns").ok_or_else(invalid)?,
            status: reply.get("now").get("status").text(),
        })
    }

    /// Waits at most `wait` for the lock.
    pub fn acquire(&mut self, name: &str, wait: Duration) -> Result<Lock<'_>, Error> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&format!(r#"{{"v":1,"do":"lock","id":{id},"name":{}}}"#, quoted(name)))?;
        let mut lock = Lock { daemon: self, id, token: 0, until_ns: 0 };
        let end = Instant::now() + wait.max(Duration::from_millis(100)); // time for the members to answer
        while lock.until_ns == 0 {
            let left = end.saturating_duration_since(Instant::now());
            let line = lock.daemon.line(left)?.ok_or(Error::TimedOut)?; // dropping the lock withdraws the request
            lock.update(&check(line)?);
        }
        Ok(lock)
    }

    /// Calls `report` with the host that leads the group (empty: none is known) and its term, now and at every change, until
    /// it returns false.
    pub fn follow(mut self, group: &str, mut report: impl FnMut(&str, i64) -> bool) -> Result<(), Error> {
        let mut reply = self.ask(&format!(r#"{{"v":1,"do":"watch-group","group":{}}}"#, quoted(group)))?;
        loop {
            let known = reply.get("group");
            if !report(&known.get("leader").text(), known.get("term").integer().unwrap_or(0)) {
                return Ok(());
            }
            while let None = self.line(Duration::from_secs(3600))?.map(|line| reply = line) {}
            reply = check(reply)?;
        }
    }

    fn ask(&mut self, request: &str) -> Result<Json, Error> {
        self.send(request)?;
        loop {
            let line = self.line(TIMEOUT)?.ok_or_else(|| Error::NoDaemon("tempod does not answer; check 'systemctl status tempod'".into()))?;
            // Others are of a lock that was released meanwhile.
            if *line.get("lock") == Json::Null && *line.get("id") == Json::Null {
                return check(line);
            }
        }
    }

    fn send(&mut self, request: &str) -> Result<(), Error> {
        Ok(self.stream.write_all(format!("{request}\n").as_bytes())?)
    }

    /// The next line, or nothing if none arrives within `wait`.
    fn line(&mut self, wait: Duration) -> Result<Option<Json>, Error> {
        let end = Instant::now() + wait;
        loop {
            if let Some(at) = self.input.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=at).collect();
                return Json::parse(&String::from_utf8_lossy(&line)).map(Some).ok_or_else(invalid);
            }
            if self.input.len() > MAX_LINE {
                return Err(Error::NoDaemon("a reply has no end: this is not tempod; give its socket".into()));
            }
            // A timeout of zero would mean none.
            let left = end.saturating_duration_since(Instant::now()).max(Duration::from_micros(1));
            self.stream.set_read_timeout(Some(left))?;
            let mut part = [0u8; 4096];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(Error::NoDaemon("tempod closed the connection; connect again".into())),
                Ok(size) => self.input.extend_from_slice(&part[..size]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) if Instant::now() >= end => return Ok(None),
                Err(_) => {}
            }
        }
    }
}

/// A held lock; dropping it releases it.
pub struct Lock<'a> {
    daemon: &'a mut Daemon,
    id: i64,
    token: u64,
    until_ns: i64, // end of the lease on CLOCK_BOOTTIME; 0: not held
}

impl Lock<'_> {
    /// Rises from one exclusive grant to the next: the resource must refuse a smaller one.
    pub fn token(&self) -> u64 { self.token }

    /// Time for which this program certainly holds the lock; zero: no longer.
    pub fn remaining(&mut self) -> Duration {
        while let Ok(Some(line)) = self.daemon.line(Duration::ZERO) {
            self.update(&line);
        }
        Duration::from_nanos((self.until_ns - boot_time_ns()).max(0) as u64)
    }

    fn update(&mut self, line: &Json) {
        let update = line.get("lock");
        if update.get("id").integer() != Some(self.id) {
            return;
        }
        match update.get("state").text().as_str() {
            "granted" | "extended" => {
                self.until_ns = self.until_ns.max(update.get("until_ns").integer().unwrap_or(0));
                self.token = update.get("token").integer().map_or(self.token, |token| token as u64);
            }
            "lost" | "refused" => self.until_ns = 0,
            _ => {}
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // If this fails, the connection is closed, which has released the lock.
        let _ = self.daemon.send(&format!(r#"{{"v":1,"do":"unlock","id":{}}}"#, self.id));
    }
}

fn boot_time_ns() -> i64 {
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0; 2]; // seconds and nanoseconds
    // SAFETY: the pointer is valid, and the layout is that of 64-bit Linux, where CLOCK_BOOTTIME is 7.
    unsafe { clock_gettime(7, &mut time) };
    time[0] * 1_000_000_000 + time[1]
}

fn invalid() -> Error { Error::NoDaemon("invalid reply: this is not tempod; give its socket".into()) }

fn check(line: Json) -> Result<Json, Error> {
    match line.get("ok") {
        Json::Bool(true) => Ok(line),
        _ => Err(Error::Refused { code: line.get("code").text(), message: line.get("error").text() }),
    }
}

fn quoted(text: &str) -> String {
    let escape = |c: char| if c < ' ' || c == '"' || c == '\\' { format!("\\u{:04x}", c as u32) } else { c.to_string() };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
mod json;
pub use json::Json;
