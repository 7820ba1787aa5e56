// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestTranslationsOfProjects checks that a Translation counts as activity in its Project, and that the controllers share one watch
// of Translations, of which there may be 100,000.
func TestTranslationsOfProjects(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "audit.log")
	n := newNetwork(t, func(o *plane.Options) {
		o.KubeAPIServerFlags = append(o.KubeAPIServerFlags, "--audit-policy-file="+write(t, auditPolicy), "--audit-log-path="+log)
	})
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	n.create(project)
	eventually(t, func(ctx context.Context) error { return isReady(ctx, n.c, project) })
	active := func(ctx context.Context) error {
		if err := n.c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		if project.Status.LastActivityTimestamp == nil {
			return errors.New("nothing happened in the project")
		}
		return nil
	}
	if active(t.Context()) == nil {
		t.Fatal("something happened in a new project")
	}
	n.create(&midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "a"}})
	eventually(t, active)

	n.stopManager()
	var lists []string
	for event, err := range audit.Read(log) {
		if err != nil {
			t.Fatal(err)
		}
		// It requests one of them to see whether the server knows protobuf.
		if event.User.Username == audit.Manager && event.Verb == "list" && event.ObjectRef.Resource == "translations" && event.ObjectRef.Namespace == "" &&
			!strings.Contains(event.RequestURI, "limit=1&") {
			lists = append(lists, event.RequestURI)
		}
	}
	if len(lists) != 1 {
		t.Errorf("all Translations were listed %d times: %q", len(lists), lists)
	}
}
