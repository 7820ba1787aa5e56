// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// kubeAPIServer is the process that the metrics of APIServices and webhooks are of.
const kubeAPIServer = "kube-apiserver"

// measured is a plane on which everything of Groundskeeper runs, with one object of each kind.
type measured struct {
	*klusterPlane
	// discoverer and cleaner run beside it.
	discoverer, cleaner *cleaner
}

// newMeasured starts one: an API server with a dedicated etcd, a controller manager with all controllers, a discoverer whose
// backend is the plane itself, and the cleanup of local volumes.
func newMeasured(t *testing.T) *measured {
	t.Helper()
	m := &measured{klusterPlane: newKlusterPlane(t, func(o *plane.Options) {
		o.SharedEtcd, o.MidoNet, o.Webhooks, o.DiscovererImage, o.ShippedGOGC = false, true, true, discoverer, true
	})}
	username, passwordFile := m.MidoNetLogin()
	config := write(t, fmt.Sprintf(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
server:
  objectMetrics: {kinds: [Project, Kluster, DiscoveryBackend, Translation]}
controllers:
  discovery: {image: %s}
  credentials: {allowPlainHTTP: true}
  kluster: {enabled: true, routeGC: {interval: 2s, confirmAfter: 1s}}
  localVolume: {storageClassNames: [managed]}
  translation: {push: {driftInterval: 2s}, midonet: {url: %q, username: %s, passwordFile: %s}}
`, discoverer, m.MidoNetURL(), username, passwordFile))
	if err := m.Managers[0].Restart(t.Context(), "--config="+config); err != nil {
		t.Fatal(err)
	}
	m.fill(t)
	return m
}

// fill makes objects, and lets each controller do something.
func (m *measured) fill(t *testing.T) {
	t.Helper()
	k, _ := m.register(t, "web", "10.180.0.0/16")
	m.is(t, k, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	for _, object := range []client.Object{project, service} {
		if err := m.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func(ctx context.Context) error {
		if err := m.c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil || project.Status.Phase == gardenerv1beta1.ProjectReady {
			return err
		}
		return fmt.Errorf("Project is %s", project.Status.Phase)
	})
	// A review of a webhook: the namespace of a project that is not to be deleted.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: *project.Spec.Namespace}}
	eventually(t, func(ctx context.Context) error { // until the API server knows the webhook
		if m.c.Delete(ctx, namespace, client.DryRunAll) == nil {
			return fmt.Errorf("the namespace of a Project may be deleted")
		}
		return nil
	})
	m.discoverer = m.discover(t)
	m.cleaner = &cleaner{t: t, address: "127.0.0.1:" + freePort(t)}
	m.cleaner.child = start(t, t.Context(), dropIn, "--kubeconfig="+m.AdminKubeconfig(), "--storageclass-names=local", "--namespace="+m.namespace, "--listen-address="+m.cleaner.address)
	for _, c := range []*cleaner{m.discoverer, m.cleaner} {
		eventually(t, func(context.Context) error {
			_, err := c.read("/readyz")
			return err
		})
	}
}

// discover runs a discoverer of the plane's own services. Its backend has no Secret, so that the operator runs none.
func (m *measured) discover(t *testing.T) *cleaner {
	t.Helper()
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: "us"}}
	backend.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Credentials: "none"}
	if err := m.c.Create(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + freePort(t)
	return &cleaner{t: t, address: address, child: start(t, t.Context(), discoverer, "kubernetes", "--gimbal-kubecfg-file="+m.AdminKubeconfig(),
		"--discover-kubecfg-file="+m.AdminKubeconfig(), "--backend-name=us", "--backend-namespace="+discoveryNamespace,
		"--prometheus-listen-address="+address, "--namespaces-allow="+m.namespace)}
}

// pages returns where the processes serve their metrics, by name of the binary, and how to reach them.
func (m *measured) pages() map[string]*rest.Config {
	return map[string]*rest.Config{
		kubeAPIServer: m.Config(),
		apiserver:     m.DirectConfig(0),
		manager:       {Host: "http://" + m.Managers[0].Address()},
		discoverer:    {Host: "http://" + m.discoverer.address},
		dropIn:        {Host: "http://" + m.cleaner.address},
	}
}

// scrape reads the metrics of a process.
func scrape(ctx context.Context, config *rest.Config) (string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/metrics", nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return string(page), err
}

// fileOf writes a file for a test and returns its path.
func fileOf(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
