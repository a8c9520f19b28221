//! Prints the time, takes a lock, and prints the leader of a group: tempo-example SOCKET LOCK GROUP
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.len() != 4 {
        eprintln!("usage: tempo-example SOCKET LOCK GROUP");
        std::process::exit(2);
    }
    if let Err(error) = run(&words[1], &words[2], &words[3]) {
        eprintln!("tempo-example: {error}");
        std::process::exit(1);
    }
}

fn run(socket: &str, name: &str, group: &str) -> Result<(), tempo::Error> {
    let mut daemon = tempo::Daemon::connect(socket)?;
    let now = daemon.now()?;
    println!("time {} in {} to {}, {}", now.time_ns, now.earliest_ns, now.latest_ns, now.status);
    let first = {
        let mut lock = daemon.acquire(name, Duration::from_secs(20))?;
        println!("lock token {}, {} ms remaining", lock.token(), lock.remaining().as_millis());
        let other = tempo::Daemon::connect(socket)?.acquire(name, Duration::ZERO).map(|lock| lock.token());
        println!("second client: {}", other.expect_err("two clients hold the lock"));
        lock.token()
    };
    let again = daemon.acquire(name, Duration::from_secs(20))?;
    println!("again: {}", if again.token() > first { "larger token" } else { "token did not rise" });
    drop(again);
    if let Err(error) = daemon.acquire("two words", Duration::ZERO).map(|lock| lock.token()) {
        println!("bad name: {error}");
    }
    daemon.follow(group, |leader, _term| {
        println!("leader {}", if leader.is_empty() { "unknown" } else { leader });
        false
    })
}
