// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// user works with one object of a kind.
type user struct {
	t    *testing.T
	kind kind
	name string
	// namespace is empty when the kind has none.
	namespace string
}

// named puts the name of the object into a text.
func (u user) named(text string) string { return strings.ReplaceAll(text, "NAME", u.name) }

// try runs kubectl in the namespace of the object.
func (u user) try(stdin string, args ...string) (string, error) {
	u.t.Helper()
	if u.namespace != "" {
		args = append([]string{"--namespace=" + u.namespace}, args...)
	}
	return kubectl(u.t, u.named(stdin), args...)
}

// run is try for what must succeed.
func (u user) run(stdin string, args ...string) string {
	u.t.Helper()
	out, err := u.try(stdin, args...)
	if err != nil {
		u.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// value returns a field of the object.
func (u user) value(path string) string {
	u.t.Helper()
	return u.run("", "get", u.kind.resource, u.name, "-o", "jsonpath="+path)
}

// prints complains unless kubectl printed what it should.
func (u user) prints(out, want string) {
	u.t.Helper()
	if !strings.Contains(out, want) {
		u.t.Errorf("kubectl prints %q, want %q", out, want)
	}
}

// settles waits until Groundskeeper's controllers have nothing more to write, where there are any.
func (u user) settles(generation string) {
	u.t.Helper()
	args := []string{"wait", "--timeout=60s", u.kind.resource + "/" + u.name}
	for _, condition := range u.kind.settled {
		args = append(args, "--for=jsonpath="+strings.ReplaceAll(condition, "GENERATION", generation))
	}
	if len(u.kind.settled) > 0 {
		u.run("", args...)
	}
}

// writesNothing complains when something writes the object. It happens in another second than what happened before it,
// because the times in managedFields are such.
func (u user) writesNothing(something func()) {
	u.t.Helper()
	read := []string{"get", u.kind.resource, u.name, "-o", "yaml", "--show-managed-fields"}
	before := u.run("", read...)
	began := time.Now().Unix()
	eventually(u.t, func(context.Context) error {
		if time.Now().Unix() == began {
			return errors.New("the clock stands still")
		}
		return nil
	})
	something()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(u.run("", read...), "\n")); diff != "" {
		u.t.Errorf("the same again was written (-before +after):\n%s", diff)
	}
}

// watches starts to watch the object. The kinds of events that came, each once, are sent when the last one did.
func (u user) watches() <-chan []string {
	u.t.Helper()
	ctx, cancel := context.WithCancel(u.t.Context())
	args := []string{"get", u.kind.resource, u.name, "--watch", "--output-watch-events", "--no-headers"}
	if u.namespace != "" {
		args = append(args, "--namespace="+u.namespace)
	}
	cmd := kubectlCommand(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	began, seen := make(chan struct{}), make(chan []string, 1)
	go func() {
		var events []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			event, row, _ := strings.Cut(lines.Text(), " ")
			if !slices.Contains(events, event) && strings.Contains(row, u.name) {
				events = append(events, event)
			}
			if event == "ADDED" {
				close(began)
			}
			if event == "DELETED" {
				break
			}
		}
		seen <- events
	}()
	select {
	case <-began:
	case events := <-seen:
		u.t.Fatalf("kubectl get --watch ended after %v", events)
	}
	return seen
}

// resourceName is how `-o name` calls an object.
func (k kind) resourceName(name string) string {
	_, group, _ := strings.Cut(k.resource, ".")
	return strings.ToLower(k.kind) + "." + group + "/" + name
}

// Complains unless kubectl failed and reported where.
func (u user) rejected(err error, where string) {
	u.t.Helper()
	if err == nil || !strings.Contains(err.Error(), where) {
		u.t.Errorf("kubectl ends with %v, want an error at %s", err, where)
	}
}
