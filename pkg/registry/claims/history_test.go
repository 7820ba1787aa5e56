// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage/value"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// checkHistory replays every revision of etcd. At each one, every object that takes a name holds
// exactly the claim of that name, there is no other claim, and no claimed name is above another.
func checkHistory(t *testing.T, c *cluster, rule claims.Rule) {
	t.Helper()
	end, err := c.Put(t.Context(), prefix+"/end", "")
	if err != nil {
		t.Fatal(err)
	}
	h := history{want: map[string]string{}, have: map[string]string{}, yields: map[string]string{}}
	for response := range c.Watch(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithRev(1), clientv3.WithFragment()) {
		if err := response.Err(); err != nil {
			t.Fatal(err)
		}
		for _, event := range response.Events {
			if event.Kv.ModRevision != h.revision {
				h.check(t, rule)
				h.revision = event.Kv.ModRevision
			}
			if h.revision == end.Header.Revision {
				t.Logf("replayed %d revisions of up to %d objects", h.revisions, h.most)
				return
			}
			h.play(t, c, rule, event)
		}
	}
	t.Fatal("the watch ended")
}

type history struct {
	revision        int64
	revisions, most int
	// want and have map claims to their holders: as the objects require, and as stored.
	want, have map[string]string
	// yields maps objects to their claims.
	yields  map[string]string
	touched []string
}

func (h *history) play(t *testing.T, c *cluster, rule claims.Rule, event *clientv3.Event) {
	t.Helper()
	key := string(event.Kv.Key)
	switch {
	case strings.HasPrefix(key, claimRoot):
		h.touched = append(h.touched, key)
		if event.Type == mvccpb.Event_DELETE {
			delete(h.have, key)
		} else {
			h.have[key] = string(event.Kv.Value)
		}
	case strings.HasPrefix(key, objectRoot):
		if old := h.yields[key]; old != "" && h.want[old] == key {
			delete(h.want, old)
			h.touched = append(h.touched, old)
		}
		delete(h.yields, key)
		if event.Type == mvccpb.Event_DELETE {
			return
		}
		if name := rule.Name(c.decode(t, key, event.Kv.Value)); name != "" {
			claim := claimRoot + name + rule.Separator
			if other := h.want[claim]; other != "" {
				t.Errorf("revision %d: %s and %s both have the name %q", event.Kv.ModRevision, other, key, name)
			}
			h.want[claim], h.yields[key] = key, claim
			h.touched = append(h.touched, claim)
		}
	}
}

func (h *history) check(t *testing.T, rule claims.Rule) {
	t.Helper()
	h.revisions++
	h.most = max(h.most, len(h.yields))
	for _, claim := range h.touched {
		if h.want[claim] != h.have[claim] {
			t.Errorf("revision %d: %s is held by %q, the objects require %q", h.revision, claim, h.have[claim], h.want[claim])
		}
		if h.have[claim] == "" {
			continue
		}
		for above := range h.have {
			if above != claim && strings.HasPrefix(claim, above) {
				t.Errorf("revision %d: %s and %s are both claimed", h.revision, above, claim)
			}
		}
	}
	h.touched = h.touched[:0]
}

func (c *cluster) decode(t *testing.T, key string, data []byte) runtime.Object {
	t.Helper()
	plain, _, err := c.transformer.TransformFromStorage(t.Context(), data, value.DefaultContext(key))
	if err != nil {
		t.Fatal(err)
	}
	o := &example.Pod{}
	if _, _, err := c.codec.Decode(plain, nil, o); err != nil {
		t.Fatal(err)
	}
	return o
}
