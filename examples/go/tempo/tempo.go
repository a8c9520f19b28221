// Package tempo is a client of tempod with the standard library only: the JSON lines of doc/reference/control-protocol.md.
//
//	daemon, err := tempo.Connect(tempo.DefaultSocket)
//	now, err := daemon.Now()
//	lock, err := daemon.Acquire("printer", 5*time.Second)
//	for lock.Remaining() > step { store(data, lock.Token()) }
//	lock.Release()
//
// A lock is held for as long as its lease lasts: check Remaining before each step. Any number of goroutines may use a Daemon.
package tempo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	DefaultSocket = "/run/tempo/tempod.sock"
	timeout       = 5 * time.Second // longest wait for a reply
	minWait       = 100 * time.Millisecond
	maxLine       = 4 << 20 // bytes of one reply
)

// ErrTimedOut: the wait is over and the lock was not granted; 'tempo locks' shows the holder.
var ErrTimedOut = errors.New("timed out; 'tempo locks' shows the holder")

// Refused: tempod refused the request. Code is that of the protocol; Message has cause and cure.
type Refused struct{ Code, Message string }

func (e *Refused) Error() string { return e.Message }

// Now: network time is between Earliest and Latest, nanoseconds since 1970, unless Status is "unsynchronized".
type Now struct {
	Time     int64 `json:"time_ns,string"`
	Earliest int64 `json:"earliest_ns,string"`
	Latest   int64 `json:"latest_ns,string"`
	Status   string
}

// Leader of a group; Host is empty while none is known.
type Leader struct {
	Host string `json:"leader"`
	Term uint64 `json:",string"`
}

type reply struct {
	V     int
	OK    bool
	ID    *int64
	Error string
	Code  string
	Now   *Now
	Group *Leader
	Lock  *struct {
		ID    int64
		State string
		Token uint64 `json:",string"`
		Until int64  `json:"until_ns,string"`
	}
}

func (r *reply) err() error {
	if r.OK {
		return nil
	}
	return &Refused{r.Code, r.Error}
}

// Daemon is a connection to tempod.
type Daemon struct {
	path    string
	conn    net.Conn
	ask     sync.Mutex // one request with a reply at a time
	mutex   sync.Mutex // of locks, lastID and failed
	locks   map[int64]*Lock
	lastID  int64
	failed  error
	replies chan *reply
	done    chan struct{} // closed when the connection is
}

func open(path string) (net.Conn, *bufio.Scanner, error) {
	conn, err := net.DialTimeout("unix", path, timeout)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to tempod at %s (%w); start it or give its socket", path, err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 4096), maxLine)
	return conn, lines, nil
}

func next(lines *bufio.Scanner) (*reply, error) {
	if !lines.Scan() {
		return nil, fmt.Errorf("tempod closed the connection (%v); connect again", lines.Err())
	}
	line := new(reply)
	if json.Unmarshal(lines.Bytes(), line) != nil || line.V != 1 {
		return nil, errors.New("invalid reply: this is not tempod; give its socket")
	}
	return line, nil
}

func send(conn net.Conn, request map[string]any) error {
	request["v"] = 1
	conn.SetWriteDeadline(time.Now().Add(timeout))
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return fmt.Errorf("lost the connection to tempod (%w); connect again", err)
	}
	return nil
}

// Connect opens a connection to tempod.
func Connect(path string) (*Daemon, error) {
	conn, lines, err := open(path)
	if err != nil {
		return nil, err
	}
	d := &Daemon{path: path, conn: conn, locks: map[int64]*Lock{}, replies: make(chan *reply, 1), done: make(chan struct{})}
	go d.read(lines)
	return d, nil
}

func (d *Daemon) read(lines *bufio.Scanner) {
	for {
		line, err := next(lines)
		d.mutex.Lock()
		if err != nil {
			d.failed = err
			close(d.done)
			d.mutex.Unlock()
			return
		}
		id := line.ID
		if line.Lock != nil {
			id = &line.Lock.ID
		}
		if id == nil {
			select {
			case d.replies <- line:
			default: // nobody waits for it any more
			}
		} else if lock := d.locks[*id]; lock != nil {
			lock.update(line)
		}
		d.mutex.Unlock()
	}
}

// Close closes the connection, which releases its locks.
func (d *Daemon) Close() { d.conn.Close() }

// Now asks tempod for the time.
func (d *Daemon) Now() (Now, error) {
	d.ask.Lock()
	defer d.ask.Unlock()
	if err := send(d.conn, map[string]any{"do": "now"}); err != nil {
		return Now{}, err
	}
	select {
	case line := <-d.replies:
		if line.err() != nil || line.Now == nil {
			return Now{}, line.err()
		}
		return *line.Now, nil
	case <-d.done:
		return Now{}, d.failed
	case <-time.After(timeout):
		d.Close() // a late reply would be taken for that of the next request
		return Now{}, errors.New("tempod does not answer; check 'systemctl status tempod'")
	}
}

// Follow calls report with the leader of the group, now and at every change, until it returns false.
func Follow(path, group string, report func(Leader) bool) error {
	conn, lines, err := open(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := send(conn, map[string]any{"do": "watch-group", "group": group}); err != nil {
		return err
	}
	for {
		line, err := next(lines)
		if err != nil {
			return err
		}
		if err := line.err(); err != nil {
			return err
		}
		if line.Group != nil && !report(*line.Group) {
			return nil
		}
	}
}

// Lock is a lock that this program acquired.
type Lock struct {
	daemon *Daemon
	id     int64
	token  uint64
	until  int64         // end of the lease on CLOCK_BOOTTIME; 0: not held
	err    error         // why it was refused or lost
	first  chan struct{} // closed when the lock is granted or refused
	once   sync.Once
}

// Acquire waits at most `wait` for the lock.
func (d *Daemon) Acquire(name string, wait time.Duration) (*Lock, error) {
	d.mutex.Lock()
	d.lastID++
	lock := &Lock{daemon: d, id: d.lastID, first: make(chan struct{})}
	d.locks[lock.id] = lock
	d.mutex.Unlock()
	if wait < minWait {
		wait = minWait // time for the members to answer
	}
	send(d.conn, map[string]any{"do": "lock", "id": lock.id, "name": name}) // a failure ends the connection
	var err error
	select { // the first update, or none
	case <-lock.first:
		d.mutex.Lock()
		err = lock.err
		d.mutex.Unlock()
	case <-d.done:
		err = d.failed
	case <-time.After(wait):
		err = ErrTimedOut
	}
	if err != nil {
		lock.Release()
		return nil, err
	}
	return lock, nil
}

func (l *Lock) update(line *reply) {
	switch {
	case !line.OK:
		l.err = line.err()
	case line.Lock.State == "granted" || line.Lock.State == "extended":
		if line.Lock.Until > l.until {
			l.until = line.Lock.Until
		}
		if line.Lock.Token != 0 {
			l.token = line.Lock.Token
		}
	default: // lost or refused
		l.until = 0
		l.err = &Refused{"unavailable", "tempod took the lock away; acquire it again"}
	}
	l.once.Do(func() { close(l.first) })
}

// Token rises from one exclusive grant to the next: the resource must refuse a smaller one.
func (l *Lock) Token() uint64 { return l.token }

// Remaining is the time for which this program certainly holds the lock; 0: no longer.
func (l *Lock) Remaining() time.Duration {
	l.daemon.mutex.Lock()
	defer l.daemon.mutex.Unlock()
	if now := bootTime(); now < l.until {
		return time.Duration(l.until - now)
	}
	return 0
}

// Release releases the lock; a closed connection has done that already.
func (l *Lock) Release() {
	l.daemon.mutex.Lock()
	delete(l.daemon.locks, l.id)
	l.until = 0
	l.daemon.mutex.Unlock()
	send(l.daemon.conn, map[string]any{"do": "unlock", "id": l.id})
}

func bootTime() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 7, uintptr(unsafe.Pointer(&now)), 0) // CLOCK_BOOTTIME
	return now.Nano()
}
