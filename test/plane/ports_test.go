// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
)

// occupy listens on the host and a port of the range.
func occupy(t *testing.T, host string) int {
	t.Helper()
	for range 100 {
		port, err := pickPort(nil)
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(host), Port: port})
		if err != nil {
			continue
		}
		t.Cleanup(func() { listener.Close() }) //nolint:errcheck // the test is over
		return port
	}
	t.Fatalf("cannot listen on %s", host)
	return 0
}

func TestPortFree(t *testing.T) {
	if portFree(occupy(t, loopback)) {
		t.Error("a port that is taken on 127.0.0.1 is free")
	}
	port, err := pickPort(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !portFree(port) {
		t.Errorf("port %d was picked and is not free", port)
	}
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return // a machine without IPv6
	}
	probe.Close() //nolint:errcheck // it was opened only to see that it can be
	if portFree(occupy(t, "::1")) {
		t.Error("a port that is taken on ::1 is free")
	}
}

func TestAssignPorts(t *testing.T) {
	taken := occupy(t, loopback)
	free, err := pickPort(nil)
	if err != nil {
		t.Fatal(err)
	}
	noUser := func(string) bool { return false }
	for name, test := range map[string]struct {
		remembered map[string]int
		running    func(string) bool
		want       map[string]int // 0: any but the remembered one
	}{
		"first start":             {running: noUser, want: map[string]int{"a": 0, "b": 0}},
		"free":                    {remembered: map[string]int{"a": free}, running: noUser, want: map[string]int{"a": free, "b": 0}},
		"taken by another client": {remembered: map[string]int{"a": taken, "b": free}, running: noUser, want: map[string]int{"a": 0, "b": free}},
		"taken automatically":     {remembered: map[string]int{"a": taken}, running: func(n string) bool { return n == "a" }, want: map[string]int{"a": taken, "b": 0}},
		"same port twice":         {remembered: map[string]int{"a": free, "b": free}, running: noUser, want: map[string]int{"a": free, "b": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			ports, err := assignPorts([]string{"a", "b"}, test.remembered, test.running)
			if err != nil {
				t.Fatal(err)
			}
			if ports["a"] == ports["b"] || len(ports) != 2 {
				t.Errorf("ports %v", ports)
			}
			for n, want := range test.want {
				switch got := ports[n]; {
				case want != 0 && got != want:
					t.Errorf("%s has port %d, want %d", n, got, want)
				case want == 0 && (got == test.remembered[n] || got < firstPort || got > lastPort):
					t.Errorf("%s has port %d", n, got)
				}
			}
		})
	}
}

func TestPickPortAvoidsTaken(t *testing.T) {
	taken := map[int]bool{}
	for port := firstPort; port <= lastPort; port++ {
		taken[port] = true
	}
	if port, err := pickPort(taken); err == nil {
		t.Errorf("port %d was taken", port)
	}
}

// TestPickPortGivesEachOnce checks that a port that one plane was assigned is not assigned to another, even before a process
// listens on it.
func TestPickPortGivesEachOnce(t *testing.T) {
	given := map[int]bool{}
	for range 500 {
		port, err := pickPort(nil)
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d was given twice", port)
		}
		given[port] = true
	}
}

// TestPickPortOfAnotherProcess checks that a port that was assigned to another process is not assigned again until that process
// exits.
func TestPickPortOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), reservesPort+"="+dir)
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "true\n" {
		t.Fatalf("the other process printed %q, %v", line, err)
	}
	if reserved, err := reserve(dir, firstPort); reserved || err != nil {
		t.Errorf("while the other process lives: reserved %t, %v", reserved, err)
	}
	stdin.Close() //nolint:errcheck // it ends the other process
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	if reserved, err := reserve(dir, firstPort); !reserved || err != nil {
		t.Errorf("after its end: reserved %t, %v", reserved, err)
	}
}

// reservesPort is a variable of the environment: with it, the test binary reserves the first port in that directory, prints
// whether it could, and lives until its input ends.
const reservesPort = "GROUNDSKEEPER_TEST_RESERVES_PORT"

func reservePort(dir string) {
	reserved, err := reserve(dir, firstPort)
	if err != nil {
		panic(err)
	}
	fmt.Println(reserved)
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is what counts
}
