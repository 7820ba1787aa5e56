// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// TestSouthbound reads the chassis that real ones have registered.
func TestSouthbound(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{Northd: true})
	southbound, err := ovnbackend.NewSouthbound(configv1alpha1.OVNConfiguration{SouthboundEndpoints: server.SouthboundEndpoints(), Timeout: &metav1.Duration{Duration: 30 * time.Second}}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(southbound.Close)
	if chassis, err := southbound.Chassis(t.Context()); err != nil || len(chassis) != 0 {
		t.Errorf("chassis = %v, %v, want none", chassis, err)
	}
	server.StartChassis(t, [2]string{"node-a", "node-b"})
	want := []ovn.Chassis{{Name: "chassis-of-node-a", Hostname: "node-a"}, {Name: "chassis-of-node-b", Hostname: "node-b"}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		chassis, err := southbound.Chassis(t.Context())
		slices.SortFunc(chassis, func(a, b ovn.Chassis) int { return strings.Compare(a.Name, b.Name) })
		if err == nil && slices.Equal(chassis, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("chassis = %v, %v, want %v", chassis, err, want)
		}
	}
}
