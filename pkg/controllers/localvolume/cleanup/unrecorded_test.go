// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// TestRecordRejected checks that a record that cannot be written is reported once, postpones no deletion, and is written when it can be.
func TestRecordRejected(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.pass(time.Second)
	rejected := true
	b.Intercept = func(request string) error {
		if rejected && strings.HasSuffix(request, "configmap") && !strings.HasPrefix(request, "get") {
			return errors.New("field is immutable when `immutable` is set")
		}
		return nil
	}
	b.LoseNode("a")
	for range 3 {
		if next := b.pass(time.Second); next > 10*time.Second {
			t.Errorf("the next reconciliation is after %s, want 10 s at most", next)
		}
	}
	events, reports := b.Events(), 0
	for _, event := range events {
		if strings.HasPrefix(event, "Warning MissingNodesNotRecorded groundskeeper-missing-nodes: ") {
			reports++
			for _, want := range []string{"field is immutable", "groundskeeper-system/groundskeeper-missing-nodes"} {
				if !strings.Contains(event, want) {
					t.Errorf("event = %q, want %q in it", event, want)
				}
			}
		}
	}
	if reports != 1 {
		t.Errorf("%d events about the record, want 1: %q", reports, events)
	}
	if failed := testutil.ToFloat64(b.Site.Metrics.Unrecorded.WithLabelValues("")); failed != 1 {
		t.Errorf("record_failed = %v, want 1", failed)
	}
	b.pass(localvolumetest.Delay)
	b.expectDeleted("the record postpones nothing", claim)
	rejected = false
	_, another := b.Bind("d", "a")
	b.pass(time.Second)
	b.expectDeleted("the delay is over", another)
	if failed := testutil.ToFloat64(b.Site.Metrics.Unrecorded.WithLabelValues("")); failed != 0 {
		t.Errorf("record_failed = %v, want 0", failed)
	}
}
