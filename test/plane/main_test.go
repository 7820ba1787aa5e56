// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// roleVariable makes the test binary play a process of a plane instead of running tests.
const roleVariable = "PLANE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role, os.Args[1:]))
	}
	if dir := os.Getenv(reservesPort); dir != "" {
		reservePort(dir)
		return
	}
	os.Exit(m.Run())
}

// get prints what a URL responds.
func get(url string) int {
	response, err := http.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	_, _ = io.Copy(os.Stdout, response.Body)
	return 0
}

// play is the process that tests start: it serves health on the address args[0].
func play(role string, args []string) int {
	if role != "get" {
		fmt.Println("playing", role, args)
	}
	switch role {
	case "get":
		return get(args[0])
	case "fail":
		fmt.Println("flag provided but not defined: -colour")
		return 7
	case "parent": // starts a dedicated server and does nothing more
		if err := os.Setenv(roleVariable, "server"); err != nil {
			return 1
		}
		p := testProcess(args[1], args[0])
		if err := p.Start(context.Background()); err != nil {
			fmt.Println(err)
			return 1
		}
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "server":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		go func() {
			<-term
			fmt.Println("stopping")
			os.Exit(0)
		}()
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if role == "unready" {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "[+]ping ok\n[-]etcd failed: it is unavailable\n")
		}
	})
	fmt.Println(http.ListenAndServe(args[0], handler))
	return 1
}

// testProcess returns the handle of a process that plays the role in the environment.
func testProcess(dir, address string) *Process {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Process{
		command: command{name: "actor", binary: self, args: []string{address, dir}, address: address, health: "http://" + address},
		logFile: filepath.Join(dir, "actor.log"),
		state:   &state{path: filepath.Join(dir, "state.json"), Ports: map[string]int{}},
		prober:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
}
