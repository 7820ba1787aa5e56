// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/x509"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// ends returns the samples of a registry, by server.
func ends(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			samples[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
		}
	}
	return samples
}

// TestIssuerReportsExpiry checks that the expiry of each certificate is reported, even if nothing can be renewed.
func TestIssuerReportsExpiry(t *testing.T) {
	issuingRun(t, 1, func(t *testing.T, i *issuers) {
		end := func(name, trusting string) float64 {
			return float64(i.leaf(t, name, trusting, x509.ExtKeyUsageClientAuth, "").NotAfter.Unix())
		}
		registry := prometheus.NewRegistry()
		// A process that starts later has seen no better times.
		later := &Issuer{options: issuerOptions(), store: store{i.kube, "system"}}
		if err := later.Register(registry); err != nil {
			t.Fatal(err)
		}
		if got := ends(t, registry); len(got) != 0 {
			t.Errorf("before it has read any: %v", got)
		}
		i.pass(2*day + time.Hour)
		want := map[string]float64{"db": end("server", "client"), "db-client": end("client", "server")}
		foreign := func(s *corev1.Secret) { s.Labels = nil }
		for _, name := range []string{"server", "ca"} {
			i.edit(t, name, foreign)
			if _, err := later.pass(t.Context()); !errors.Is(err, errForeign) {
				t.Fatalf("it reports %v", err)
			}
			if diff := cmp.Diff(want, ends(t, registry)); diff != "" {
				t.Errorf("%s is another client's, -want +got:\n%s", name, diff)
			}
		}
		i.edit(t, "server", func(s *corev1.Secret) { s.Labels = map[string]string{managedLabel: "true"} })
		i.edit(t, "ca", nil)
		if _, err := later.pass(t.Context()); err == nil || !strings.Contains(err.Error(), "the CA is lost") {
			t.Fatalf("it reports %v", err)
		}
		if diff := cmp.Diff(want, ends(t, registry)); diff != "" {
			t.Errorf("the CA is lost, -want +got:\n%s", diff)
		}
		i.edit(t, "client", nil)
		_, _ = later.pass(t.Context())
		delete(want, "db-client")
		if diff := cmp.Diff(want, ends(t, registry)); diff != "" {
			t.Errorf("a certificate was deleted, -want +got:\n%s", diff)
		}
	})
}

// TestIssuerRepeatsAProblem checks that a persistent problem is logged once per day.
func TestIssuerRepeatsAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		i := &issuers{kube: kube}
		issuer := &Issuer{options: issuerOptions(), store: store{kube, "system"}}
		if _, err := issuer.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		i.edit(t, "client", func(s *corev1.Secret) { s.Labels = nil })
		var lines atomic.Int32
		logger := funcr.New(func(_, args string) {
			if strings.Contains(args, "not in order") {
				lines.Add(1)
			}
		}, funcr.Options{})
		go issuer.Run(logr.NewContext(t.Context(), logger))
		for n, wait := range []time.Duration{0, day - time.Hour, time.Hour + maxPause} {
			time.Sleep(wait)
			synctest.Wait()
			if got, want := lines.Load(), []int32{1, 1, 2}[n]; got != want {
				t.Errorf("%s later there are %d lines, not %d", wait, got, want)
			}
		}
	})
}

func TestIsNews(t *testing.T) {
	var reported problem
	now := time.Now()
	one, other := errors.New("one"), errors.New("other")
	for n, c := range []struct {
		err   error
		after time.Duration
		want  bool
	}{
		{one, 0, true}, {one, day - time.Second, false}, {other, 0, true}, {one, 0, true}, {one, day, true}, {one, time.Second, false},
	} {
		now = now.Add(c.after)
		if got := reported.isNews(c.err, now); got != c.want {
			t.Errorf("%d: %v, %s later: %v", n, c.err, c.after, got)
		}
	}
}
