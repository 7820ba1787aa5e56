// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	followed "groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	gardenerCore     = "core.gardener.cloud/v1beta1"
	gardenerSecurity = "security.gardener.cloud/v1alpha1"
)

// TestStaleProjectsOfGardener runs the controllers without Groundskeeper's API server, with Gardener's kinds, including Project, as
// custom resources that are installed and removed. It checks the five documented conditions. It does not run in parallel with other
// tests, because it counts reconciliations.
func TestStaleProjectsOfGardener(t *testing.T) {
	t.Parallel()
	rare(t)
	p := startPlane(t, plane.Options{Dir: t.TempDir()})
	applied(t, clientOf(t, p.Config()), "testdata/project-crd.yaml", artifact("namespaces", "namespaces.yaml"),
		artifact("rbac", "controller-manager.yaml"), artifact("controllers-only", "controller-manager.yaml"))
	awaitServed(t, p)
	binaryMakesReady(t, p)
	outage := brokenGroup(t, p)
	g := newGarden(t, p, func(config *configv1alpha1.ProjectControllerConfiguration) {
		config.UsageResources = append(config.UsageResources, "widgets.broken.example.com")
	})
	projects := map[string]*gardenerv1beta1.Project{}
	for _, name := range []string{"shoot", "plant", "entry", "secret", "quota", "credentials", "identity", "internal", "vault", "idle", "rotated", "bound"} {
		projects[name] = g.project(t, name)
	}
	unused := func(reason string, autoDelete bool, names ...string) {
		t.Helper()
		for _, name := range names {
			g.stale(t, projects[name], "True", reason, true, autoDelete)
		}
	}
	used := func(names ...string) {
		t.Helper()
		for _, name := range names {
			g.stale(t, projects[name], "False", "InUse", false, false)
		}
	}
	quiet := func(names ...string) {
		t.Helper()
		for _, name := range names {
			g.stale(t, projects[name], "False", "RecentlyActive", false, false)
		}
	}
	everybody := []string{"shoot", "plant", "entry", "secret", "quota", "credentials", "identity", "internal", "vault", "idle"}

	// As long as one group does not respond, nothing is known, and nothing is marked.
	g.pass(31)
	g.failedProbes(t, projects["idle"])
	if err := g.client.Get(t.Context(), client.ObjectKeyFromObject(projects["idle"]), projects["idle"]); err != nil {
		t.Fatal(err)
	}
	if since := projects["idle"].Status.StaleSinceTimestamp; since != nil {
		t.Fatalf("a project is stale since %s, though a group does not respond", since)
	}
	if err := g.client.Delete(t.Context(), outage); err != nil {
		t.Fatal(err)
	}
	// There are none of the kinds yet, which is as good as having none of their objects.
	unused("Unused", false, everybody...)

	definitions := g.apply(t, "testdata/gardener-crds.yaml")
	reference := func(to string) map[string]any {
		return map[string]any{"namespace": projects[to].NamespaceName(), "name": "referred"}
	}
	g.create(t, projects["plant"], gardenerCore, "Plant", "p", nil)
	g.create(t, projects["entry"], gardenerCore, "BackupEntry", "b", nil)
	for _, name := range []string{"secret", "credentials", "idle"} {
		g.create(t, projects[name], "v1", "Secret", "referred", nil)
		g.create(t, projects[name], "v1", "Secret", "other", nil)
	}
	g.create(t, projects["quota"], gardenerCore, "Quota", "referred", nil)
	g.create(t, projects["idle"], gardenerCore, "Quota", "referred", nil)
	// In the namespace of the Shoots: bindings of other projects' Secrets and Quotas, and one that no client uses.
	g.create(t, projects["shoot"], gardenerCore, "SecretBinding", "sb", map[string]any{
		"secretRef": reference("secret"), "quotas": []any{reference("quota")}})
	g.create(t, projects["shoot"], gardenerSecurity, "CredentialsBinding", "cb", map[string]any{
		"credentialsRef": map[string]any{"apiVersion": "v1", "kind": "Secret", "namespace": projects["credentials"].NamespaceName(), "name": "referred"}})
	// The other kinds of credentials that Gardener has, and one that it does not have yet.
	g.create(t, projects["identity"], gardenerSecurity, "WorkloadIdentity", "referred", nil)
	g.create(t, projects["internal"], gardenerCore, "InternalSecret", "referred", nil)
	for name, kind := range map[string][2]string{"identity": {gardenerSecurity, "WorkloadIdentity"}, "internal": {gardenerCore, "InternalSecret"}, "vault": {"example.com/v1", "Vault"}} {
		g.create(t, projects["entry"], gardenerSecurity, "CredentialsBinding", name, map[string]any{
			"credentialsRef": map[string]any{"apiVersion": kind[0], "kind": kind[1], "namespace": projects[name].NamespaceName(), "name": "referred"}})
		g.create(t, projects["entry"], gardenerCore, "Shoot", name, map[string]any{"spec": map[string]any{"credentialsBindingName": name}})
	}
	g.create(t, projects["shoot"], gardenerCore, "SecretBinding", "unused", map[string]any{
		"secretRef": reference("idle"), "quotas": []any{reference("idle")}})
	// Credentials that no Shoot uses.
	rotated := g.create(t, projects["rotated"], "v1", "Secret", "referred", nil)
	g.create(t, projects["shoot"], gardenerCore, "SecretBinding", "rotated", map[string]any{"secretRef": reference("rotated")})
	g.create(t, projects["bound"], "v1", "Secret", "referred", nil)
	bound := g.create(t, projects["shoot"], gardenerCore, "SecretBinding", "bound", map[string]any{"secretRef": reference("bound")})
	first := g.create(t, projects["shoot"], gardenerCore, "Shoot", "first", map[string]any{"spec": map[string]any{"secretBindingName": "sb"}})
	second := g.create(t, projects["shoot"], gardenerCore, "Shoot", "second", map[string]any{"spec": map[string]any{"credentialsBindingName": "cb"}})
	used("shoot", "plant", "entry", "secret", "quota", "credentials", "identity", "internal")
	unused("Unused", false, "idle", "rotated", "bound")
	if err := g.client.Patch(t.Context(), rotated, client.RawPatch(types.MergePatchType, []byte(`{"data":{"token":"bmV3"}}`))); err != nil {
		t.Fatal(err)
	}
	quiet("rotated")
	if err := g.client.Delete(t.Context(), bound); err != nil {
		t.Fatal(err)
	}
	quiet("bound")

	// A Shoot that uses another binding leaves what it used, and one that is being deleted is activity in its own project. The end of a use
	// is activity in the project of the credentials.
	if err := g.client.Patch(t.Context(), first, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"secretBindingName":"none"}}`))); err != nil {
		t.Fatal(err)
	}
	quiet("secret", "quota")
	used("credentials")
	for _, shoot := range []*unstructured.Unstructured{first, second} {
		if err := g.client.Delete(t.Context(), shoot); err != nil {
			t.Fatal(err)
		}
	}
	quiet("shoot", "credentials")

	// A kind is deleted, with its objects: they were deleted just now.
	for _, definition := range definitions {
		if definition.GetName() == "plants.core.gardener.cloud" {
			if err := g.client.Delete(t.Context(), definition); err != nil {
				t.Fatal(err)
			}
		}
	}
	quiet("plant")
	eventually(t, func(ctx context.Context) error { // the use is recorded: for a day from now, nothing is deleted
		g.clock.SetTime(g.clock.Now().Add(time.Second))
		_, err := g.use.Kinds.Live(time.Second).Find(ctx, usage.Plants, followed.Query{})
		return err
	})
	g.pass(31)
	unused("DeletionPlanned", true, "idle")
	unused("Unused", false, "shoot", "plant", "secret", "quota", "credentials", "rotated", "bound")
	used("entry", "identity", "internal")

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: projects["idle"].NamespaceName()}}
	g.pass(60)
	g.absent(t, projects["idle"])
	eventually(t, func(ctx context.Context) error {
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); client.IgnoreNotFound(err) != nil {
			return err
		} else if err == nil {
			return fmt.Errorf("namespace %s is still there", namespace.Name)
		}
		return nil
	})
	used("entry", "identity", "internal")
	// Whether an object of an unknown kind uses the project is unknown, so the earlier mark remains unchanged and nothing is
	// deleted.
	unused("Unused", false, "vault")

	// Activity while no controller knew of it is found after a restart, if that is not long ago.
	projects["restarted"] = g.project(t, "restarted")
	secret := g.create(t, projects["restarted"], "v1", "Secret", "referred", nil)
	g.create(t, projects["shoot"], gardenerCore, "SecretBinding", "restarted", map[string]any{"secretRef": reference("restarted")})
	unused("Unused", false, "restarted")
	newGarden(t, p)
	eventually(t, func(ctx context.Context) error {
		project := projects["restarted"]
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		if last, created := project.Status.LastActivityTimestamp, secret.GetCreationTimestamp(); last == nil || last.Before(&created) {
			return fmt.Errorf("the last activity was on %s, want %s or later", last, created)
		}
		return nil
	})
}

// binaryMakesReady runs the binary, as shipped, until it has made a Project Ready. Custom resources know no protobuf.
func binaryMakesReady(t *testing.T, p *plane.Plane) {
	t.Helper()
	config := write(t, `{apiVersion: config.groundskeeper.io/v1alpha1, kind: ControllerManagerConfiguration, controllers: {enabled: [project, project-stale, project-activity]}}`)
	ctx, stop := context.WithCancel(t.Context())
	child := start(t, ctx, manager, "--config="+config, "--kubeconfig="+p.AdminKubeconfig(), "--health-address=127.0.0.1:0")
	c := clientOf(t, p.Config())
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "binary"}}
	if err := c.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := isReady(ctx, c, project); err != nil {
			return fmt.Errorf("%w; the binary logged: %s", err, child.stderr.last())
		}
		return nil
	})
	stop()
	_ = child.exitCode()
}

// Waits until a Project has been deleted.
func (g *garden) absent(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		current := &gardenerv1beta1.Project{}
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(project), current); err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("project %s is still there, deleted at %v: %+v", project.Name, current.DeletionTimestamp, current.Status)
	})
}

// awaitServed waits until Projects can be listed.
func awaitServed(t *testing.T, p *plane.Plane) {
	t.Helper()
	c := clientOf(t, p.Config())
	eventually(t, func(ctx context.Context) error { return c.List(ctx, &gardenerv1beta1.ProjectList{}) })
}

// brokenGroup registers a group whose server does not respond, and waits until that shows.
func brokenGroup(t *testing.T, p *plane.Plane) client.Object {
	t.Helper()
	service := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "broken.example.com", "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
		"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "nobody"},
	}}}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	service.SetName("v1.broken.example.com")
	if err := clientOf(t, p.Config()).Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := discoverer.ServerResourcesForGroupVersionWithContext(ctx, "broken.example.com/v1")
		if apierrors.IsServiceUnavailable(err) {
			return nil
		}
		return fmt.Errorf("discovery reports %w", err)
	})
	return service
}

// failedProbes waits until the controller checked a project, again and again, and could not report whether it is in use.
func (g *garden) failedProbes(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	before, n := unknownProbes(t), 0
	eventually(t, func(ctx context.Context) error {
		// More than the other projects account for, whose next checks come after ten seconds.
		if unknownProbes(t) >= before+20 {
			return nil
		}
		n++
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
		touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/look":"%d"}}}`, n)
		if err := g.client.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, touch)); err != nil {
			return err
		}
		return fmt.Errorf("%d changes made the controller look in vain less often", n)
	})
}

// unknownProbes is how often a controller in this process could not report whether a project is in use.
func unknownProbes(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "groundskeeper_project_stale_checks_total" && m.GetLabel()[0].GetValue() == "unknown" {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
