// Prints the time, takes a lock, and prints the leader of a group: example SOCKET LOCK GROUP
package main

import (
	"fmt"
	"os"
	"time"

	"tempo.example/client/tempo"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: example SOCKET LOCK GROUP")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(socket, name, group string) error {
	daemon, err := tempo.Connect(socket)
	if err != nil {
		return err
	}
	defer daemon.Close()
	now, err := daemon.Now()
	if err != nil {
		return err
	}
	fmt.Printf("time %d in %d to %d, %s\n", now.Time, now.Earliest, now.Latest, now.Status)
	lock, err := daemon.Acquire(name, 20*time.Second)
	if err != nil {
		return err
	}
	first := lock.Token()
	fmt.Printf("lock token %d, %d ms remaining\n", first, lock.Remaining().Milliseconds())
	second, err := tempo.Connect(socket)
	if err != nil {
		return err
	}
	defer second.Close()
	if _, err := second.Acquire(name, 0); err != nil {
		fmt.Println("second client:", err)
	}
	lock.Release()
	again, err := daemon.Acquire(name, 20*time.Second)
	if err != nil {
		return err
	}
	if again.Token() > first {
		fmt.Println("again: larger token")
	}
	again.Release()
	if _, err := daemon.Acquire("two words", 0); err != nil {
		fmt.Println("bad name:", err)
	}
	return tempo.Follow(socket, group, func(leader tempo.Leader) bool {
		if leader.Host == "" {
			leader.Host = "unknown"
		}
		fmt.Println("leader", leader.Host)
		return false
	})
}
