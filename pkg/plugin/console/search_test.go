// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// A list is ordered by any of its columns in both directions, and the page reads a window of it.
func TestListsAreOrderedAndReadInWindows(t *testing.T) {
	_, reading := newWorld(t)
	s := newStore(optionsOf(reading))
	for i, phase := range []kubernikusv1.KlusterPhase{kubernikusv1.KlusterRunning, kubernikusv1.KlusterPending, kubernikusv1.KlusterCreating} {
		k := klusterIn(phase, fmt.Sprint("cluster-", i))
		k.CreationTimestamp = metav1.NewTime(noon.Add(-time.Duration(i%2+1) * time.Hour))
		if i == 2 {
			k.Namespace = "garden-a"
		}
		s.set("Klusters", k)
	}
	for query, want := range map[string][]string{
		"":                           {"garden-a/cluster-2", "garden-shop/cluster-0", "garden-shop/cluster-1"},
		"sort=name":                  {"garden-shop/cluster-0", "garden-shop/cluster-1", "garden-a/cluster-2"},
		"sort=-name":                 {"garden-a/cluster-2", "garden-shop/cluster-1", "garden-shop/cluster-0"},
		"sort=namespace":             {"garden-a/cluster-2", "garden-shop/cluster-0", "garden-shop/cluster-1"},
		"sort=state":                 {"garden-a/cluster-2", "garden-shop/cluster-1", "garden-shop/cluster-0"},
		"sort=findings":              {"garden-a/cluster-2", "garden-shop/cluster-1", "garden-shop/cluster-0"},
		"sort=age":                   {"garden-a/cluster-2", "garden-shop/cluster-0", "garden-shop/cluster-1"},
		"sort=-age":                  {"garden-shop/cluster-1", "garden-a/cluster-2", "garden-shop/cluster-0"},
		"sort=name&from=1&limit=1":   {"garden-shop/cluster-1"},
		"sort=name&from=5":           {},
		"sort=name&from=-1&limit=99": {"garden-shop/cluster-0", "garden-shop/cluster-1", "garden-a/cluster-2"},
		"kind=Projects":              {},
		"namespace=garden-a":         {"garden-a/cluster-2"},
	} {
		t.Run(query, func(t *testing.T) {
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			found, total := s.search(searchOf(values))
			got := []string{}
			for _, f := range found {
				got = append(got, f.label())
			}
			if !slices.Equal(got, want) {
				t.Errorf("list = %q of %d, want %q", got, total, want)
			}
			if values.Get("kind") == "" && values.Get("namespace") == "" && total != 3 {
				t.Errorf("total = %d, want 3: it counts what is not in the window, too", total)
			}
		})
	}
}

func TestTranslationsHaveNamesInWords(t *testing.T) {
	for name, test := range map[string]struct{ kind, owner, want string }{
		"service.4.web": {"Service", "web", "Service shop/web"},
		"service-port.4.shop-web-http-10.96.0.10-6-80":         {"Service", "web", "Service shop/web, port http"},
		"service-port.4.shop-web-dns-tcp-10.96.0.10-17-53":     {"Service", "web", "Service shop/web, port dns-tcp"},
		"service-port.4.shop-web--10.96.0.10-17-53":            {"Service", "web", "Service shop/web, port 53"},
		"endpoints-port.4.web-http-10.96.0.10-10.1.0.7-80-tcp": {"Service", "web", "Service shop/web, endpoints of port http"},
		"pod.4.web-0":                               {"Pod", "web-0", "Pod shop/web-0"},
		"pod-mac.4.web-0-mac-0a580a010005":          {"Pod", "web-0", "Pod shop/web-0, MAC entry mac-0a580a010005"},
		"node-address.4.node-a-internalip-10.0.0.1": {"Node", "node-a", "Node node-a, address internalip-10.0.0.1"},
		"midonet-global.4.chain":                    {"", "", ""},
		"made-by-hand":                              {"Pod", "web-0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			translation := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
			if test.kind != "" {
				translation.OwnerReferences = []metav1.OwnerReference{{Kind: test.kind, Name: test.owner}}
			}
			if got := titleOf(translation); got != test.want {
				t.Errorf("title = %q, want %q", got, test.want)
			}
		})
	}
}
