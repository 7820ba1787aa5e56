// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(d))) }

func condition(kind, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
}

// TestParseAs checks that a name may have a prefix with its kind where the kind is given.
func TestParseAs(t *testing.T) {
	for text, want := range map[string]string{
		"us": "us", "dbe/us": "us", "discoverybackend us": "us", "kluster/us": "is none of the DiscoveryBackends", "a b": "is not one of these kinds", "backends/us": "us", "DiscoveryBackends/us": "us",
	} {
		name, err := parseAs(backendsTitle, strings.Fields(text))
		if err != nil {
			name = err.Error()
		}
		if !strings.Contains(name, want) {
			t.Errorf("%s: name = %s, want %s", text, name, want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"kluster/web": "Klusters web", "KL web": "Klusters web", "project.core.gardener.cloud/a": "Projects a", "dbe/x": "DiscoveryBackends x",
		"kluster": "is not KIND/NAME", "pod/web": "Pods web", "httpproxy/web": "HTTPProxy web", "klusters/x": "Klusters x", "backends/x": "DiscoveryBackends x",
		"backend x": "DiscoveryBackends x", "proxies/x": "HTTPProxy x", "ing/x": "Ingress x", "ingresses.networking.k8s.io/web": "Ingress web",
		"secret/web": "is not one of these kinds: project, kluster", "kluster/": "is not KIND/NAME",
	} {
		k, name, err := parse(strings.Fields(text))
		got := k.title + " " + name
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestPluralOf checks that options take each name of a kind.
func TestPluralOf(t *testing.T) {
	for word, want := range map[string]string{"kl": "klusters", "Kluster": "klusters", "klusters": "klusters", "tr": "translations", "pods": "pods"} {
		if got := pluralOf(word); got != want {
			t.Errorf("plural of %s = %q, want %q", word, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, all int
		want      string
	}{{0, 0, ""}, {0, 4, "[..............................] 0 of 4"}, {2, 4, "[###############...............] 2 of 4"}, {9, 4, "[##############################] 9 of 4"}} {
		if got := bar(c.done, c.all); got != c.want {
			t.Errorf("%d of %d: %s", c.done, c.all, got)
		}
	}
}

func TestColor(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	to := &terminal{alive: true}
	if err := to.setColor("auto"); err != nil || to.in(red, "x") != "x" {
		t.Errorf("NO_COLOR counts for nothing: %v", err)
	}
	if err := to.setColor("always"); err != nil || to.in(red, "x") != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q, %v", to.in(red, "x"), err)
	}
	if err := to.setColor("pink"); err == nil {
		t.Error("pink = nil, want an error")
	}
}
