// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package openstack tests Groundskeeper's OpenStack clients and Route GC against a real Keystone, Neutron, Nova, Cinder and
// Octavia, which "make test-openstack" starts and the flag -testbed names. Without the flag only the fake of the other tests gets
// the requests to which both must respond the same way.
package openstack

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

var testbed = flag.String("testbed", "", "the directory of the running testbed of hack/openstack/testbed.sh; empty: only the fake is tested")

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests that run concurrently mostly wait for other processes.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	// Closing an httptest.Server cuts connections of http.DefaultTransport, those of other tests with it.
	http.DefaultClient.Transport = http.DefaultTransport.(*http.Transport).Clone()
	if *testbed == "" {
		fmt.Println("only the fake is tested: a real OpenStack is named by -testbed, as make test-openstack does")
		os.Exit(m.Run())
	}
	os.Exit(runBetweenInventories(m.Run))
}

// needTestbed skips a test that only a real OpenStack can pass.
func needTestbed(t *testing.T) {
	t.Helper()
	if *testbed == "" {
		t.Skip("needs a real OpenStack: make test-openstack")
	}
}

// rounds is how often a random test repeats: SOAK, or by default 50.
func rounds(t *testing.T) int {
	t.Helper()
	return soaktest.Rounds(t, 50)
}

// control runs a command of the testbed, with variables besides its own.
func control(t testing.TB, variables []string, command ...string) {
	t.Helper()
	script, err := filepath.Abs("../../hack/openstack/testbed.sh")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, script, command...)
	run.Env = append(append(os.Environ(), "TESTBED_DIR="+*testbed), variables...)
	// Services that it starts keep its output open; a file does not wait for them.
	log, err := os.CreateTemp(t.TempDir(), "testbed")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	run.Stdout, run.Stderr = log, log
	if err := run.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("testbed.sh %v: %v\n%s", command, err, text)
	}
}

// restart starts services, with a blank between their names, again with a setting, for one test.
func restart(t *testing.T, services, setting string) {
	t.Helper()
	stop := append([]string{"stop"}, strings.Fields(services)...)
	t.Cleanup(func() {
		control(t, nil, stop...)
		control(t, nil, "up")
	})
	control(t, nil, stop...)
	control(t, []string{setting}, "up")
}
