// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// TestTranslationsAreTakenOver checks that a deployment of midonet-kube-controllers can be migrated as documented in
// docs/midonet.md: rules that translate to the wrong endpoint are replaced, and nothing else in the backend is changed.
func TestTranslationsAreTakenOver(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	n.bare()
	ns := n.namespace("old")
	for i, name := range []string{"node-a", "node-b"} {
		address := fmt.Sprintf("192.0.2.%d", i+1)
		node := n.node(name, fmt.Sprintf("10.1.%d.0/24", i), address)
		id := n.host(name)
		edit(n, node, func(node *corev1.Node) { // the original annotates Nodes, too
			setAnnotation(node, midonetv1.AnnotationHostID, id)
			setAnnotation(node, midonetv1.AnnotationTunnelZoneID, "")
			setAnnotation(node, midonetv1.AnnotationTunnelEndpointIP, address)
			setAnnotation(node, midonetv1.AnnotationMACAddress, fmt.Sprintf("ac:ca:ba:00:00:%02d", i))
		})
		for j := range 2 {
			pod := n.pod(ns, fmt.Sprintf("web-%d-%d", i, j), name, fmt.Sprintf("10.1.%d.%d", i, 10+j))
			edit(n, pod, func(pod *corev1.Pod) {
				setAnnotation(pod, midonetv1.AnnotationMACAddress, fmt.Sprintf("0a:58:0a:01:%02d:%02d", i, j))
			})
		}
	}
	dns := tcp("dns", 53)
	dns.Protocol = corev1.ProtocolUDP
	web := n.service(ns, "web", tcp("http", 80), dns)
	n.slice(web, "web-a", "10.1.0.10", "10.1.1.10")
	other := n.service(ns, "other", tcp("", 8080))
	n.slice(other, "other-a", "10.1.0.10", "10.1.1.10", "10.1.1.11")
	const wrong = 2*1 + 1*2 // ports by endpoints; the last does not count

	old, broken := n.original(ns, wrong)
	n.fill(old)
	n.export(old)
	n.clearRequests()

	t.Log("plan first")
	n.startManager("--config=" + n.configWith("plan", "controllers", "translation", "push", "mode"))
	eventually(t, func(ctx context.Context) error { return n.planned(ctx, broken) })
	if seen := n.requests(); seen.by(http.MethodPost, http.MethodPut, http.MethodDelete) > 0 {
		t.Errorf("a plan writes: %+v", seen)
	}
	n.stopManager()
	n.clearRequests()

	t.Log("go")
	n.startManager()
	n.settled()
	n.replaced(wrong)
	n.stays()

	t.Log("once more, after the Endpoints have been deleted")
	n.stopManager()
	endpoints, err := n.owned(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	var again []midonetv1.Translation
	for _, tr := range old {
		if _, own := endpoints[tr.Name]; own && strings.HasPrefix(tr.Name, "endpoints-port.") {
			n.let(tr)
			tr.OwnerReferences[0].UID = types.UID(uuid.NewString())
			tr.Labels[midonetv1.LabelOwnerUID] = string(tr.OwnerReferences[0].UID)
			again = append(again, tr)
		}
	}
	n.export(again)
	for _, tr := range again {
		eventually(t, func(ctx context.Context) error {
			if err := n.c.Get(ctx, client.ObjectKeyFromObject(&tr), &tr); err != nil || !tr.DeletionTimestamp.IsZero() {
				return err
			}
			return fmt.Errorf("garbage collection has not seen %s", tr.Name)
		})
	}
	n.startManager()
	n.settled()
	n.stays()
}

// bare stops the manager and reverts everything that it did.
func (n *network) bare() {
	n.t.Helper()
	n.settled()
	n.stopManager()
	translations, err := n.translations(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	n.let(translations...)
	n.page(http.MethodDelete, "content", nil, nil)
}

// original returns what midonet-kube-controllers makes of the objects in a namespace and of the Nodes: the endpoints belong
// to v1 Endpoints, and those of one port all have the DNAT rule of the last. It returns the ids of the wrong rules, too.
func (n *network) original(namespace string, wrong int) (old []midonetv1.Translation, broken map[string]bool) {
	n.t.Helper()
	wanted, err := n.wanted(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	old = slices.SortedFunc(maps.Values(wanted), func(a, b midonetv1.Translation) int { return strings.Compare(a.Name, b.Name) })
	owners := map[string]*corev1.Endpoints{}           //nolint:staticcheck // the original uses it
	last := map[string]*midonetv1.BackendResource{}    // the DNAT rule of the last endpoint, by the chain of the port
	rules := map[string][]*midonetv1.BackendResource{} // all of them
	for i := range old {
		tr := &old[i]
		if i%2 == 0 {
			tr.Finalizers = nil // the export of one whose finalizer was stripped
		}
		if !strings.HasPrefix(tr.Name, "endpoints-port.") {
			continue
		}
		service := tr.OwnerReferences[0].Name
		if owners[service] == nil {
			owners[service] = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service}} //nolint:staticcheck // as in the test above
			n.create(owners[service])
		}
		uid := owners[service].UID
		tr.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Endpoints", Name: service, UID: uid}}
		tr.Labels = map[string]string{midonetv1.LabelOwnerUID: string(uid)}
		port := tr.Resources[1].Parent
		last[port] = &tr.Resources[2]
		rules[port] = append(rules[port], last[port])
	}
	broken = map[string]bool{}
	for port, all := range rules {
		target := ruleOf(n, last[port])
		for _, r := range all {
			if rule := ruleOf(n, r); r != last[port] {
				broken[rule.ID] = true
				rule.NATTargets = target.NATTargets
				body, err := json.Marshal(rule)
				if err != nil {
					n.t.Fatal(err)
				}
				r.Body = string(body)
			}
		}
	}
	if len(broken) != wrong {
		n.t.Fatalf("%d rules are wrong, want %d", len(broken), wrong)
	}
	return old, broken
}

func ruleOf(n *network, r *midonetv1.BackendResource) *midonet.Rule {
	n.t.Helper()
	rule := &midonet.Rule{}
	if err := json.Unmarshal([]byte(r.Body), rule); err != nil || rule.Type != midonet.DNATRule {
		n.t.Fatalf("%v is no DNAT rule: %v", r, err)
	}
	return rule
}

// fill makes in the backend what Translations list, as the original does: it posts one after the other, each rule to the head of
// its chain, and comes back to what is rejected.
func (n *network) fill(translations []midonetv1.Translation) {
	n.t.Helper()
	backend := n.manually()
	left := make([][]midonetv1.BackendResource, len(translations))
	for i := range translations {
		left[i] = translations[i].Resources
	}
	for progress := true; progress; {
		progress = false
		for i := range left {
			for len(left[i]) > 0 {
				resource, err := midonet.NewResource(left[i][0].Kind, left[i][0].Parent, left[i][0].Body)
				if err != nil {
					n.t.Fatal(err)
				}
				if err := backend.Create(n.t.Context(), resource); err != nil {
					break
				}
				left[i], progress = left[i][1:], true
			}
		}
	}
	for i := range left {
		if len(left[i]) > 0 {
			n.t.Fatalf("%v of %s was never taken", left[i][0], translations[i].Name)
		}
	}
}

// export creates Translations with kubectl, as the documentation specifies: with names, owners and labels, and no status.
func (n *network) export(translations []midonetv1.Translation) {
	n.t.Helper()
	type item struct {
		metav1.TypeMeta
		Metadata  map[string]any              `json:"metadata"`
		Resources []midonetv1.BackendResource `json:"resources"`
	}
	items := []item{}
	for _, tr := range translations {
		metadata := map[string]any{"name": tr.Name, "namespace": tr.Namespace, "labels": tr.Labels, "ownerReferences": tr.OwnerReferences}
		if tr.Finalizers != nil {
			metadata["finalizers"] = tr.Finalizers
		}
		items = append(items, item{metav1.TypeMeta{APIVersion: "midonet.org/v1", Kind: "Translation"}, metadata, tr.Resources})
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		n.t.Fatal(err)
	}
	if out, err := n.kubectl(string(list), "create", "-f", "-"); err != nil || strings.Count(out, "created") != len(items) {
		n.t.Fatalf("kubectl create: %v: %s", err, out)
	}
}

// configWith writes the configuration of the manager with another value in a field.
func (n *network) configWith(value any, field ...string) string {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.Dir(), "manager-config.yaml"))
	if err != nil {
		n.t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(data, &config); err != nil {
		n.t.Fatal(err)
	}
	if err := unstructured.SetNestedField(config, value, field...); err != nil {
		n.t.Fatal(err)
	}
	if data, err = yaml.Marshal(config); err != nil {
		n.t.Fatal(err)
	}
	return write(n.t, string(data))
}

// planned complains unless all Translations are as they should be and the plan is to replace these rules and to adopt
// the rest.
func (n *network) planned(ctx context.Context, replace map[string]bool) error {
	translations, err := n.translations(ctx)
	if err != nil {
		return err
	}
	wanted, err := n.wanted(ctx)
	if err != nil {
		return err
	}
	if len(wanted) != len(translations) {
		return fmt.Errorf("%d translations, want %d", len(translations), len(wanted))
	}
	for _, tr := range translations {
		if want, ok := wanted[client.ObjectKeyFromObject(&tr)]; !ok || !slices.Equal(tr.Resources, want.Resources) {
			return fmt.Errorf("translation %s: %v, want %v", tr.Name, tr.Resources, want.Resources)
		}
		condition := meta.FindStatusCondition(tr.Status.Conditions, midonetv1.ConditionSynced)
		if condition == nil || condition.Reason != "Planned" || tr.Status.ObservedGeneration != tr.Generation {
			return fmt.Errorf("translation %s: %+v", tr.Name, tr.Status)
		}
		for _, r := range tr.Status.Resources {
			want := "would adopt"
			if replace[r.ID] {
				want = "would replace: fields natTargets"
			}
			if r.Message != want {
				return fmt.Errorf("translation %s, %s %s: the plan is %q, want %q", tr.Name, r.Kind, r.ID, r.Message, want)
			}
		}
	}
	return nil
}

// replaced fails for writes other than those that replace so many rules, each by way of a copy. The pusher also sends requests to
// create existing resources, to find out whether they exist.
func (n *network) replaced(rules int) {
	n.t.Helper()
	made, deleted := 0, 0
	for _, c := range n.requests().Counts {
		there := c.Code == http.StatusConflict || c.Code == http.StatusInternalServerError && (strings.HasSuffix(c.Path, "_table") || strings.HasPrefix(c.Path, "/bridges/"))
		switch {
		case c.Method == http.MethodGet, c.Path == "/login", c.Method == http.MethodPost && there:
		case c.Method == http.MethodPost && c.Code == http.StatusCreated && c.Path == "/chains/*/rules":
			made += c.Requests
		case c.Method == http.MethodDelete && c.Code == http.StatusNoContent && c.Path == "/rules/*":
			deleted += c.Requests
		default:
			n.t.Errorf("%+v", c)
		}
	}
	if made != 2*rules || deleted != 2*rules {
		n.t.Errorf("%d rules were made and %d deleted to replace %d", made, deleted, rules)
	}
}
