// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// TestSoakDrains checks that, whatever users edit while backends enter and leave maintenance, and wherever Groundskeeper crashes,
// the final route is the same as on a second API server on which nothing is drained.
func TestSoakDrains(t *testing.T) {
	if rounds, ok := soaktest.Requested(t); ok {
		checks := flag.Lookup("rapid.checks")
		was := checks.Value.String()
		// Rounds per kind: with the 1000 rounds of make soak, 16,000 in total.
		if err := checks.Value.Set(strconv.Itoa(2 * rounds)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Value.Set(was) })
	}
	for _, kind := range Kinds() {
		if kind.Kind == "Ingress" {
			continue // it has no weights
		}
		t.Run(kind.Kind, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { drains(rt, kind, false) })
		})
	}
	t.Run("granular", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { drains(rt, kindOf(t, "IngressRoute"), true) })
	})
}

func drains(t *rapid.T, kind *Kind, granular bool) {
	draw := &drawer{T: t, kind: kind, granular: granular}
	wanted := draw.desired()
	server, shadow := newAPIServer(kind, granular), newAPIServer(kind, granular)
	for _, s := range []*apiServer{server, shadow} {
		if err := s.apply(route(kind, wanted.text()...), "alice", false); err != nil {
			t.Fatal(err)
		}
		s.ages(t, "alice")
	}
	// Either bob edits the live route, or alice applies manifests again: after an edit hers would conflict.
	edits := rapid.Bool().Draw(t, "edits")
	backends := fleet{}
	const settled = 1000
	// A weight that is changed and reset before Groundskeeper checks the route cannot be observed. unseen records that one was
	// changed. ramped is set while weights may be multiplied.
	unseen, ramped := false, false
	settle := func() {
		server.settle(t, kind, backends, settled)
		unseen, ramped = false, backends.shares != nil
	}
	for range rapid.IntRange(1, 15).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"drain", "drain", "settle", "settle", "crash", "change", "change", "label", "service", "ramp", "ramp"}).Draw(t, "step") {
		case "ramp":
			backends.shares = rapid.SampledFrom([]map[string]int{nil, {"us": 90}, {"us": 40}, {"us": 40, "eu": 70}}).Draw(t, "shares")
		case "drain":
			backends.drained = rapid.SampledFrom([][]string{nil, {"us"}, {"eu"}, {"us", "eu"}}).Draw(t, "drained")
			backends.keepSole = rapid.SampledFrom([][]string{nil, {"us"}}).Draw(t, "keep sole")
		case "settle":
			settle()
			drainedIsTrue(t, kind, server, backends)
		case "crash":
			server.settle(t, kind, backends, rapid.IntRange(0, 2).Draw(t, "writes"))
			ramped = ramped || backends.shares != nil
		case "service":
			// Services of backends other than "us" are deleted and created.
			backends.missing = rapid.SampledFrom([][]string{nil, {"eu-web"}, {"web", "api"}, {"eu-web", "eu-api", "web", "api"}}).Draw(t, "missing")
		case "label":
			// Another manager writes what does not matter.
			value := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value")
			for _, s := range []*apiServer{server, shadow} {
				object := s.get()
				object.SetLabels(map[string]string{"note": value})
				s.update(t, object, "carol")
				s.ages(t, "carol")
			}
		case "change":
			if backends.shares = nil; ramped {
				settle() // changes of weights that are multiplied are tested elsewhere
			}
			if edits {
				if unseen {
					settle()
				}
				next, edit := draw.edit(wanted, readDesired(rulesOf(kind, server.live)))
				if edit == nil {
					continue
				}
				wanted, unseen = next, true
				for _, s := range []*apiServer{server, shadow} {
					object := s.get()
					edit(object)
					s.update(t, object, "bob")
					s.ages(t, "bob")
				}
				continue
			}
			manifest, alone := draw.change(wanted)
			// Where each weight has an owner, one that Groundskeeper owns between two of Groundskeeper's writes leaves a
			// manifest without a trace.
			between := granular && kind.View(server.live.Object).Decide(backends).HandBack
			if alone || unseen || between {
				settle()
			}
			unseen = !alone
			live := readDesired(rulesOf(kind, server.live))
			wanted = draw.heard(wanted, manifest, live)
			// Only between two of Groundskeeper's writes does another client interfere.
			pending := kind.View(server.live.Object).Decide(backends).HandBack
			if err := server.apply(route(kind, manifest.text()...), "alice", pending); err != nil {
				t.Fatal(err)
			}
			if err := shadow.apply(route(kind, wanted.text()...), "alice", false); err != nil {
				t.Fatal(err)
			}
			server.ages(t, "alice")
			shadow.ages(t, "alice")
			if alone {
				settle()
			}
		}
	}
	server.settle(t, kind, fleet{}, settled)
	if granular && draw.kept {
		// Such a weight has no owner where each one has one.
		for _, s := range []*apiServer{server, shadow} {
			s.live.SetManagedFields(nil)
		}
	}
	if diff := cmp.Diff(shadow.live.Object, server.live.Object); diff != "" {
		t.Fatalf("it is not as if there had been no drain: %s", diff)
	}
}

// drainedIsTrue fails when a backend is drained that still gets requests.
func drainedIsTrue(t *rapid.T, kind *Kind, server *apiServer, backends fleet) {
	outcomes := kind.View(server.live.Object).Decide(backends).Backends
	for _, rule := range readDesired(rulesOf(kind, server.live)) {
		for _, key := range receiving(kind, rule, backends) {
			if backend, _, ok := strings.Cut(key, "-"); ok && outcomes[backend].Drained {
				t.Fatalf("%s is drained, but %s receives: %v", backend, key, rule)
			}
		}
	}
}
