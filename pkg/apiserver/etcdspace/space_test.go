// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcdspace

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// memberErrors responds with the errors of members of etcd by their endpoints; nil: the member does not respond.
type memberErrors map[string][]string

func (m memberErrors) Status(_ context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	if m[endpoint] == nil {
		return nil, errors.New("no response")
	}
	return &clientv3.StatusResponse{Errors: m[endpoint]}, nil
}

// TestSpace checks that readiness names a full etcd, and that members that do not respond change nothing.
func TestSpace(t *testing.T) {
	alarm := (&pb.AlarmMember{MemberID: 1, Alarm: pb.AlarmType_NOSPACE}).String()
	s := &Space{gauge: prometheus.NewGauge(prometheus.GaugeOpts{Name: "full"})}
	for _, step := range []struct {
		name string
		etcd memberErrors
		full bool
	}{
		{"not known", memberErrors{}, false},
		{"has space", memberErrors{"a": {}}, false},
		{"another alarm", memberErrors{"a": {(&pb.AlarmMember{Alarm: pb.AlarmType_CORRUPT}).String(), "etcdserver: no leader"}}, false},
		{"is full, by the second member", memberErrors{"b": {alarm}}, true},
		{"does not respond", memberErrors{}, true},
		{"was disarmed", memberErrors{"a": {}, "b": {alarm}}, false},
	} {
		s.observe(t.Context(), step.etcd, []string{"a", "b"})
		err := s.ReadyCheck().Check(nil)
		if (err != nil) != step.full || (testutil.ToFloat64(s.gauge) == 1) != step.full {
			t.Errorf("%s: readiness = %v, gauge = %v, want full: %t", step.name, err, testutil.ToFloat64(s.gauge), step.full)
		}
	}
	if name := s.ReadyCheck().Name(); name != "etcd-space" {
		t.Errorf("name of the check = %q, want etcd-space", name)
	}
}
