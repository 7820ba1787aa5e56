// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// A status lists the first orphans in their order, and counts all.
func TestStatusOf(t *testing.T) {
	if got := statusOf(nil); got != nil {
		t.Errorf("status without orphans = %+v, want none", got)
	}
	var many []Orphan
	for i := maxOrphans + 2; i > 0; i-- {
		many = append(many, Orphan{Route: route(fmt.Sprintf("100.100.%03d.0/24", i), "10.0.0.6"), Since: time.Unix(1e9, 5)})
	}
	got := statusOf(many)
	if got.OrphanCount != maxOrphans+2 || len(got.Orphans) != maxOrphans || got.Orphans[0].Destination != "100.100.001.0/24" {
		t.Errorf("%d of %d orphans, the first one %+v", len(got.Orphans), got.OrphanCount, got.Orphans[0])
	}
	if o := got.Orphans[0]; !o.Since.Equal(new(metav1.Unix(1e9, 0))) || o.RemovalDue != nil {
		t.Errorf("orphan = %+v, want whole seconds and no time of its removal", o)
	}
}

func TestNames(t *testing.T) {
	var many []openstack.Route
	for i := range 12 {
		many = append(many, route(fmt.Sprintf("100.100.%d.0/24", i), "10.0.0.6"))
	}
	if got := names(many); !strings.HasSuffix(got, "100.100.9.0/24 via 10.0.0.6, and 2 more") {
		t.Error(got)
	}
}
