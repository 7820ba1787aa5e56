// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

func serviceCIDR(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

// TestAddressesInRanges checks which addresses in the range of cluster IPs are used, where the range is known, is not, and cannot be read.
func TestAddressesInRanges(t *testing.T) {
	for name, tc := range map[string]struct {
		ranges  []*networkingv1.ServiceCIDR
		unknown bool // not served
		unread  bool
		// external and ofNode: an unused address in 10.96.0.0/16 is used for the Service and the Node.
		external, ofNode bool
	}{
		"in a range":                  {ranges: []*networkingv1.ServiceCIDR{serviceCIDR("kubernetes", "fd00::/112", "10.96.0.0/16")}},
		"in one of several":           {ranges: []*networkingv1.ServiceCIDR{serviceCIDR("kubernetes", "10.97.0.0/16"), serviceCIDR("more", "10.96.0.0/24")}},
		"in no range":                 {ranges: []*networkingv1.ServiceCIDR{serviceCIDR("kubernetes", "10.97.0.0/16")}, external: true, ofNode: true},
		"ranges are not served":       {unknown: true, external: true, ofNode: true},
		"ranges could not be read":    {unread: true},
		"a range that cannot be read": {ranges: []*networkingv1.ServiceCIDR{serviceCIDR("kubernetes", "10.96.0.0")}, unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			service, node := servedAt("web", 1, "10.96.0.10", "10.96.0.77", "10.96.0.10", "203.0.113.9"), testNode("a")
			node.Spec.PodCIDR, node.Status.Addresses = "10.1.0.0/24", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.96.0.78"}}
			w := newWorld(t, service, node)
			for _, each := range tc.ranges {
				if err := w.Client().Create(t.Context(), each); err != nil {
					t.Fatal(err)
				}
			}
			w.config = ovnConfig()
			w.restart()
			w.reconciler.ranges = !tc.unknown
			if tc.unread && tc.ranges == nil {
				w.unread = func(what string) error {
					if strings.Contains(what, "ServiceCIDR") {
						return errors.New("forbidden")
					}
					return nil
				}
			}
			units := []unit{{kind: convert.KindService, namespace: "web", name: "web"}, {kind: convert.KindNode, name: "a"}}
			for _, u := range units {
				if _, requests, err := w.reconcile(u); (err != nil) != tc.unread || tc.unread && len(requests) > 0 {
					t.Fatalf("requests for %s = %q, %v; want none and an error: %v", u, requests, err, tc.unread)
				}
			}
			if tc.unread {
				return
			}
			bodies := fmt.Sprint(w.one("web", "service.4.web").Resources)
			for address, want := range map[string]bool{"10.96.0.77:80": tc.external, "10.96.0.10:80": true, "203.0.113.9:80": true} {
				if got := strings.Contains(bodies, address); got != want {
					t.Errorf("%s is served = %v, want %v", address, got, want)
				}
			}
			names := fmt.Sprint(w.names("default"))
			if got := strings.Contains(names, "node-address"); got != tc.ofNode {
				t.Errorf("translations = %s; a route to the Node = %v, want %v", names, got, tc.ofNode)
			}
			events := fmt.Sprint(w.events())
			if got := strings.Contains(events, "ExternalAddressTaken") && strings.Contains(events, "NodeAddressTaken"); got == tc.external {
				t.Errorf("events = %q, want them: %v", events, !tc.external)
			}
		})
	}
}

// TestRangesChanged checks that a change of the ranges reconciles Services with external addresses, and Nodes.
func TestRangesChanged(t *testing.T) {
	w := newWorld(t, servedAt("web", 1, "10.96.0.10", "203.0.113.9"), servedAt("plain", 1, "10.96.0.11"), testNode("a"))
	before, after := serviceCIDR("kubernetes", "10.96.0.0/16"), serviceCIDR("kubernetes", "10.96.0.0/16", "fd00::/112")
	before.ResourceVersion, after.ResourceVersion = "1", "2"
	same := before.DeepCopy()
	same.ResourceVersion = "2"
	units := (mapper{cache: w.Client()}).besideRanges(t.Context(), after)
	if want := []unit{{kind: convert.KindService, namespace: "web", name: "web"}, {kind: convert.KindNode, name: "a"}}; !slices.Equal(units, want) {
		t.Errorf("units = %v, want %v", units, want)
	}
	if changed := rangesChanged(); !changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) ||
		changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: same}) {
		t.Error("an update is admitted without a change of the ranges, or not with one")
	}
}

// TestServesRanges checks that only a kind that is certainly not served is not watched.
func TestServesRanges(t *testing.T) {
	served := meta.NewDefaultRESTMapper(nil)
	served.Add(networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR"), meta.RESTScopeRoot)
	older := meta.NewDefaultRESTMapper(nil)
	older.Add(schema.GroupVersionKind{Group: networkingv1.GroupName, Version: "v1beta1", Kind: "ServiceCIDR"}, meta.RESTScopeRoot)
	for name, tc := range map[string]struct {
		mapper meta.RESTMapper
		want   bool
		err    bool
	}{
		"served":           {served, true, false},
		"an older version": {older, false, false},
		"not served":       {meta.NewDefaultRESTMapper(nil), false, false},
		"no response":      {failing{}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := servesRanges(tc.mapper); got != tc.want || (err != nil) != tc.err {
				t.Errorf("served = %v, %v, want %v, an error: %v", got, err, tc.want, tc.err)
			}
		})
	}
}

type failing struct{ meta.RESTMapper }

func (failing) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("no response")
}
