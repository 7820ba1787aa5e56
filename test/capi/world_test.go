// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	// namespace is where all Clusters are.
	namespace = "clusters"
	project   = "garden"
	patience  = 4 * time.Minute
)

// world is a plane with Groundskeeper and Cluster API, and OpenStack with its provider.
type world struct {
	*testing.T
	ctx      context.Context
	group    sync.WaitGroup
	dir      string
	plane    *plane.Plane
	c        client.WithWatch
	cloud    *fake.Server
	external string
	provider *provider
	config   string
}

// newWorld starts it. The settings are those of controllers.kluster.clusterAPI.
func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), cloud: fake.New(fake.Options{})}
	t.Cleanup(w.cloud.Close)
	w.cloud.AddUser("gardener", "first", project)
	w.external = w.cloud.AddExternalNetwork("203.0.113.0/24")
	w.config = w.write("config.yaml", fmt.Sprintf(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
controllers:
  kluster:
    enabled: true
    routeGC: {interval: 1h}
    deorbit: {pollInterval: 1s, stageTimeout: 20s, apiUnavailableTimeout: 5s, serviceGracePeriod: 1s}
    clusterAPI: {enabled: true, drainTimeout: 10m%s}
`, settings))
	w.plane = w.start(management())
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	t.Cleanup(func() { cancel(); w.group.Wait() })
	w.c = w.install(w.plane)
	w.clusterAPI()
	w.provider = newProvider(w.c, w.cloud, project)
	w.group.Go(func() { w.provider.run(w.ctx) })
	return w
}

// management are the options of a plane with Groundskeeper.
func management() plane.Options {
	return plane.Options{APIServers: 1, Managers: 1, Webhooks: true, SharedEtcd: true}
}

// install makes a plane a management cluster: it has the kinds of Cluster API, and Groundskeeper deorbits their objects.
func (w *world) install(p *plane.Plane) client.WithWatch {
	w.Helper()
	c := newClient(w.T, p.Config())
	if err := c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"groundskeeper.io/deorbit": "true"}}}); err != nil {
		w.Fatal(err)
	}
	w.kubectlOn(p, "apply", "-k", "../../artifacts/kluster")
	w.kubectlOn(p, "apply", "-k", "../../artifacts/capi")
	// Server-side: an annotation could not have these definitions.
	w.kubectlOn(p, "apply", "--server-side", "-f", filepath.Join(filepath.Dir(p.Kubectl()), "cluster-api-crds"))
	w.kubectlOn(p, "apply", "-f", "testdata/provider.yaml")
	w.kubectlOn(p, "wait", "--for=condition=Established", "--timeout=1m", "customresourcedefinitions", "--all")
	if err := p.Managers[0].Restart(w.Context(), "--config="+w.config); err != nil {
		w.Fatal(err)
	}
	return c
}

// start starts a plane that ends with the test.
func (w *world) start(options plane.Options) *plane.Plane {
	w.Helper()
	options.Dir, options.UnsafeNoFsync = filepath.Join(w.TempDir(), "plane"), true
	started, err := plane.Start(w.Context(), options)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			w.Error(err)
		}
	})
	return started
}

func newClient(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, scheme.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) write(name, content string) (path string) {
	w.Helper()
	path = filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *world) kubectl(args ...string) {
	w.Helper()
	w.kubectlOn(w.plane, args...)
}

func (w *world) kubectlOn(p *plane.Plane, args ...string) {
	w.Helper()
	command := exec.CommandContext(w.Context(), p.Kubectl(), append([]string{"--kubeconfig", p.AdminKubeconfig()}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		w.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// clusterctl runs Cluster API's own command for users, without its configuration and its network.
func (w *world) clusterctl(args ...string) (string, error) {
	command := exec.CommandContext(w.ctx, filepath.Join(filepath.Dir(w.plane.Kubectl()), "clusterctl"), append(args, "--namespace="+namespace, "--kubeconfig="+w.plane.AdminKubeconfig())...)
	command.Env = append(os.Environ(), "HOME="+w.dir, "XDG_CONFIG_HOME="+w.dir, "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	out, err := command.CombinedOutput()
	return string(out), err
}

// clusterAPI runs the core controllers until the test ends.
func (w *world) clusterAPI() {
	w.Helper()
	path := filepath.Join(filepath.Dir(w.plane.Kubectl()), "cluster-api-controllers")
	if _, err := os.Stat(path); err != nil {
		w.Fatalf("there is no %s: \"make cluster-api\" builds it", path)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.write("tls.crt", string(certificate))
	w.write("tls.key", string(key))
	port, err := plane.FreePort()
	if err != nil {
		w.Fatal(err)
	}
	logs := filepath.Join(w.dir, "cluster-api.log")
	log, err := os.Create(logs)
	if err != nil {
		w.Fatal(err)
	}
	// No webhook is registered: their server only has to start.
	command := exec.CommandContext(w.ctx, path, "--kubeconfig="+w.plane.AdminKubeconfig(), "--webhook-port="+strconv.Itoa(port), "--webhook-cert-dir="+w.dir,
		"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
		"--feature-gates=ClusterTopology=true,RuntimeSDK=true", "-v=2")
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), "POD_NAMESPACE="+namespace, "POD_NAME=cluster-api", "KUBERNETES_SERVICE_HOST=", "KUBERNETES_SERVICE_PORT=")
	if err := command.Start(); err != nil {
		w.Fatal(err)
	}
	w.group.Go(func() {
		if err := command.Wait(); w.ctx.Err() == nil {
			w.Errorf("Cluster API ended: %v", err)
		}
		_ = log.Close()
		if content, err := os.ReadFile(logs); err == nil && w.Failed() {
			w.Logf("Cluster API: …%s", content[max(0, len(content)-6000):])
		}
	})
}

func (w *world) create(object client.Object) {
	w.Helper()
	if err := w.c.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// object returns one of the text of a manifest.
func (w *world) object(text string, values ...any) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, text, values...), &o.Object); err != nil {
		w.Fatal(err)
	}
	return o
}

func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// cluster creates a Cluster on OpenStack with Machines, and the Secrets that it has. The kubeconfig is that of its workload cluster.
func (w *world) cluster(name, spec string, kubeconfig []byte, machines ...string) *unstructured.Unstructured {
	w.Helper()
	clouds := `{clouds: {cloud: {auth: {auth_url: "` + w.cloud.AuthURL() + `", username: gardener, password: first, user_domain_name: Default, project_id: garden}}, other: {}}}`
	labels := map[string]string{"cluster.x-k8s.io/cluster-name": name}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-cloud-config", Labels: map[string]string{"clusterctl.cluster.x-k8s.io/move": ""}}, Data: map[string][]byte{"clouds.yaml": []byte(clouds), "cacert": []byte("\n")}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-kubeconfig", Labels: labels}, Data: map[string][]byte{"value": kubeconfig}, Type: "cluster.x-k8s.io/secret"})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-bootstrap", Labels: labels}, Data: map[string][]byte{"value": []byte("#cloud-config")}})
	w.create(w.object(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: %[1]s, namespace: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[1]s}}
spec: {identityRef: {name: %[1]s-cloud-config, cloudName: cloud}, managedSubnets: [{cidr: 10.6.0.0/24}]}
`, name, namespace))
	cluster := w.object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {groundskeeper.io/deorbit: "true"}
  annotations: {groundskeeper.io/cloud-provider-cluster-name: %[2]s-%[1]s, groundskeeper.io/csi-cluster-id: %[2]s-%[1]s}
spec:
  clusterNetwork: {pods: {cidrBlocks: [100.100.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: %[1]s}
  %[3]s
`, name, namespace, spec)
	w.create(cluster)
	for _, machine := range machines {
		w.create(w.object(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: %[3]s, namespace: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[1]s}}
spec: {flavor: small}
`, name, namespace, machine))
		w.create(w.object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: %[3]s, namespace: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[1]s}}
spec:
  clusterName: %[1]s
  bootstrap: {dataSecretName: %[1]s-bootstrap}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: %[3]s}
`, name, namespace, machine))
	}
	return cluster
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, condition func(ctx context.Context) error) {
	w.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if now := condition(ctx); now == nil || last == nil || ctx.Err() == nil {
			last = now
		}
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("%s: %v: %v; the provider: %v", what, err, last, w.provider.failed())
	}
}

// kluster waits for the Kluster of a Cluster, until OpenStack was probed for it.
func (w *world) kluster(name string) *kubernikusv1.Kluster {
	w.Helper()
	k := &kubernikusv1.Kluster{}
	w.eventually("the Kluster", func(ctx context.Context) error {
		if err := w.c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, k); err != nil {
			return err
		}
		if k.Status.Openstack == nil || k.Status.Openstack.LBSubnetID == "" {
			return fmt.Errorf("status = %+v", k.Status)
		}
		return nil
	})
	return k
}

// hooked waits until each Machine has the hook.
func (w *world) hooked(machines ...string) {
	w.Helper()
	w.eventually("the hooks", func(ctx context.Context) error {
		for _, name := range machines {
			m := newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, name)
			if err := w.c.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
				return err
			}
			if _, held := m.GetAnnotations()["pre-terminate.delete.hook.machine.cluster.x-k8s.io/groundskeeper-deorbit"]; !held {
				return fmt.Errorf("Machine %s has annotations %v", name, m.GetAnnotations())
			}
		}
		return nil
	})
}

// deleted reports an error as long as an object exists.
func (w *world) deleted(ctx context.Context, object client.Object) error {
	err := w.c.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s exists", object.GetName())
	}
	return err
}
