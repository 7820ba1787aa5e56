// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TestTranslationsOfAnotherVersion checks that Translations of a new version take over from those of the old one: equal resources
// are not written, others are updated, and obsolete ones are deleted.
func TestTranslationsOfAnotherVersion(t *testing.T) {
	rare(t)
	t.Parallel()
	n := newNetwork(t)
	ns := n.namespace("version")
	for i, name := range []string{"node-a", "node-b"} {
		n.annotated(n.node(name, fmt.Sprintf("10.1.%d.0/24", i), fmt.Sprintf("192.0.2.%d", i+1)), n.host(name))
		pod := n.pod(ns, "web-"+name, name, fmt.Sprintf("10.1.%d.10", i))
		edit(n, pod, func(pod *corev1.Pod) {
			setAnnotation(pod, midonetv1.AnnotationMACAddress, fmt.Sprintf("0a:58:0a:01:%02d:10", i))
		})
	}
	n.slice(n.service(ns, "web", tcp("http", 80), tcp("https", 443)), "web-a", "10.1.0.10", "10.1.1.10")
	n.settled()

	t.Run("the same content", func(t *testing.T) {
		n := n.on(t)
		n.downgrade(nil)
		n.startManager()
		n.settled()
		if seen := n.requests(); seen.by(http.MethodPost, http.MethodPut, http.MethodDelete) > 0 {
			t.Errorf("the backend was written to: %+v", seen)
		}
		n.stays()
	})
	t.Run("another content", func(t *testing.T) {
		n := n.on(t)
		rules := 0
		n.downgrade(func(tr *midonetv1.Translation) {
			switch {
			case tr.Name == "service.3.web": // had another chain
				tr.Resources = append(tr.Resources, midonetv1.BackendResource{
					Kind: "Chain", Body: `{"id":"` + uuid.NewString() + `","tenantId":"midonetkube","name":"KUBE-OLD"}`,
				})
			case strings.HasPrefix(tr.Name, "endpoints-port."): // pointed to another port
				rules++
				rule := ruleOf(n, &tr.Resources[2])
				rule.NATTargets[0].PortFrom, rule.NATTargets[0].PortTo = 1, 1
				body, err := json.Marshal(rule)
				if err != nil {
					t.Fatal(err)
				}
				tr.Resources[2].Body = string(body)
			}
		})
		n.startManager()
		n.settled()
		made, deleted, chains := 0, 0, 0
		for _, c := range n.requests().Counts {
			switch key := fmt.Sprintf("%s %s %d", c.Method, c.Path, c.Code); {
			case c.Method == http.MethodGet, c.Path == "/login":
			case key == "POST /chains/*/rules 201":
				made += c.Requests
			case key == "DELETE /rules/* 204":
				deleted += c.Requests
			case key == "DELETE /chains/* 204":
				chains += c.Requests
			case c.Method == http.MethodPost && c.Code == http.StatusConflict:
			default:
				t.Errorf("%+v", c)
			}
		}
		if rules != 4 || made != 2*rules || deleted != 2*rules || chains != 1 {
			t.Errorf("%d rules were made and %d deleted to replace %d, and %d chains deleted", made, deleted, rules, chains)
		}
		n.stays()
	})
}

// downgrade stops the manager, makes all Translations some of version 3, has a pusher that knows no better push them, and counts
// requests again.
func (n *network) downgrade(change func(*midonetv1.Translation)) {
	n.t.Helper()
	n.stopManager()
	translations, err := n.translations(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, tr := range translations {
		old := &midonetv1.Translation{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: tr.Namespace, Name: strings.Replace(tr.Name, ".4.", ".3.", 1), Labels: tr.Labels, OwnerReferences: tr.OwnerReferences,
			},
			Resources: slices.Clone(tr.Resources),
		}
		if old.Name == tr.Name {
			n.t.Fatalf("translation %s has no version", tr.Name)
		}
		if change != nil {
			change(old)
		}
		n.create(old)
	}
	n.let(translations...)
	n.startManager("--config=" + n.configWith([]any{"translation-push"}, "controllers", "enabled"))
	eventually(n.t, func(ctx context.Context) error {
		old, err := n.translations(ctx)
		if err != nil || len(old) != len(translations) {
			return fmt.Errorf("%w, %d translations of %d", err, len(old), len(translations))
		}
		for i := range old {
			if err := notSynced(&old[i]); err != nil {
				return err
			}
		}
		return n.exact(ctx, old)
	})
	n.stopManager()
	n.clearRequests()
}
