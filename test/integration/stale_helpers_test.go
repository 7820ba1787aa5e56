// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/activity"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/stale"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

// garden is a plane whose Projects are managed inside of this process, with the permissions of the controller manager and with a
// fake clock. The clock starts at the current time, because the API server's clock determines creation timestamps.
type garden struct {
	*plane.Plane
	client client.WithWatch
	use    *usage.Usage
	clock  *testclock.FakePassiveClock
}

// newGarden runs the controllers of Projects on a plane. Passes follow each other quickly, because the pauses between
// them are not of the clock that is turned; all else is the default.
func newGarden(t *testing.T, p *plane.Plane, change ...func(*configv1alpha1.ProjectControllerConfiguration)) *garden {
	t.Helper()
	g := &garden{Plane: p, client: clientOf(t, p.Config()), clock: testclock.NewFakePassiveClock(time.Now())}
	config := configv1alpha1.ProjectControllerConfiguration{}
	configv1alpha1.SetDefaults_ProjectControllerConfiguration(&config)
	config.StaleSyncPeriod.Duration = 200 * time.Millisecond
	for _, f := range change {
		f(&config)
	}
	account, err := p.ConfigFor(audit.Manager, "system:serviceaccounts", audit.Accounts)
	if err != nil {
		t.Fatal(err)
	}
	restricted, err := lifecycle.CacheOptions()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(account, ctrl.Options{
		Scheme: g.client.Scheme(), Cache: cache.Options{ByObject: restricted, ReaderFailOnMissingInformer: true},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(true), EnableWarmup: new(true)},
		Metrics:    metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if g.use, err = (&usage.Shared{Period: time.Second}).For(mgr, g.clock, config.UsageResources); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		lifecycle.AddToManager(mgr, config, g.use), stale.AddToManager(mgr, config, g.use, g.clock), activity.AddToManager(mgr, config, g.use, g.clock),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return g
}

// pass lets so many days go by.
func (g *garden) pass(days float64) {
	g.clock.SetTime(g.clock.Now().Add(time.Duration(days * float64(24*time.Hour))))
}

// project creates a Project and waits until it is Ready.
func (g *garden) project(t *testing.T, name string) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := g.client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return isReady(ctx, g.client, project) })
	return project
}

// stale waits until the condition Stale of a Project has a status and a reason, and its timestamps are there or not.
func (g *garden) stale(t *testing.T, project *gardenerv1beta1.Project, status, reason string, since, autoDelete bool) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		s := &project.Status
		for _, c := range s.Conditions {
			if c.Type == gardenerv1beta1.ProjectStale && string(c.Status) == status && c.Reason == reason &&
				(s.StaleSinceTimestamp != nil) == since && (s.StaleAutoDeleteTimestamp != nil) == autoDelete {
				return nil
			}
		}
		return fmt.Errorf("project %s is not %s because of %s: %+v", project.Name, status, reason, *s)
	})
}

// create makes an object of the API version and kind in the namespace of a Project.
func (g *garden) create(t *testing.T, in *gardenerv1beta1.Project, apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		object.Object[field] = value
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(in.NamespaceName())
	object.SetName(name)
	// A kind that has just come is not served immediately.
	eventually(t, func(ctx context.Context) error { return g.client.Create(ctx, object) })
	return object
}

// apply creates the objects of manifests, files or directories with a kustomization.
func (g *garden) apply(t *testing.T, paths ...string) []client.Object {
	t.Helper()
	return applied(t, clientOf(t, g.Config()), paths...)
}

func applied(t *testing.T, c client.Client, paths ...string) []client.Object {
	t.Helper()
	var objects []client.Object
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(file))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			object := &unstructured.Unstructured{}
			if err = errors.Join(err, yaml.Unmarshal(document, &object.Object)); err != nil {
				t.Fatal(err)
			}
			if len(object.Object) == 0 {
				continue
			}
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, object)
		}
		_ = file.Close()
	}
	return objects
}

// artifact returns the path of a manifest of the repository.
func artifact(path ...string) string {
	return filepath.Join(append([]string{"..", "..", "artifacts"}, path...)...)
}
