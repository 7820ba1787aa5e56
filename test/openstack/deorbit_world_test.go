// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/standin"
)

// deorbitConfig has times that a test can wait for. Route GC removes nothing while a test runs: Deorbit deletes what is deleted.
const deorbitConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
controllers:
  credentials: {allowPlainHTTP: true} # the cloud is on loopback
  kluster:
    enabled: true
    routeGC: {interval: 1h, confirmAfter: 1h}
    deorbit: {pollInterval: 1s, stageTimeout: 30s, apiUnavailableTimeout: 2s, serviceGracePeriod: 1s}
`

// deorbitAudit records everything that Groundskeeper's processes request.
const deorbitAudit = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:groundskeeper-system"]}
- {level: None}
`

const foreignDriver = "csi.example.com"

// orbit is what the cases of Deorbit share: a cluster with Groundskeeper's servers, one to be torn down, and a project of OpenStack
// in which a second cluster has what it has. One case at a time is in the cluster to be torn down, each behind a dedicated name.
type orbit struct {
	management, workload *plane.Plane
	// c is the administrator of the first cluster, inside of the second.
	c, inside client.WithWatch
	// home is the user of the project.
	home *api
	// subnet, router and public are the network of the nodes, its router and where floating IPs are from; nodeID is a server.
	subnet, router, public, nodeID string
	neighbour                      *craft
	// before is what the project had when the neighbour was there, and nothing else.
	before     inventory
	registered atomic.Int32
}

func newOrbit(t *testing.T) *orbit {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	audit := filepath.Join(dir, "audit.log")
	t.Cleanup(func() {
		if err := mayAll(audit); err != nil {
			t.Error(err)
		}
	})
	o := &orbit{}
	o.management = startPlane(t, plane.Options{
		Dir: filepath.Join(dir, "management"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write("policy.yaml", deorbitAudit), "--audit-log-path=" + audit},
	})
	apply := exec.CommandContext(t.Context(), o.management.Kubectl(), "--kubeconfig", o.management.AdminKubeconfig(), "apply", "-k", "../../artifacts/kluster")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := o.management.Managers[0].Restart(t.Context(), "--config="+write("config.yaml", deorbitConfig)); err != nil {
		t.Fatal(err)
	}
	o.workload = startPlane(t, plane.Options{Dir: filepath.Join(dir, "workload"), UnsafeNoFsync: true, KubeControllers: []string{
		"persistentvolume-binder-controller", "persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller"}})
	o.c, o.inside = kubernetesClient(t, o.management.Config()), kubernetesClient(t, o.workload.Config())
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(dir, "management", "logs", "groundskeeper-controller-manager.log")); t.Failed() && err == nil {
			t.Logf("the controller manager's log:\n%s", log)
		}
	})
	o.classes(t)
	o.home = newProject(t)
	network, subnet, router := o.home.network()
	o.subnet, o.router, o.public = subnet, router, o.home.gateway(router)
	o.nodeID = o.home.server(network, "10.0.0.5")
	o.neighbour = o.register(t, "neighbour", nil, nil)
	o.neighbour.outfit()
	o.neighbour.paths()
	o.neighbour.had = o.neighbour.things()
	o.before = o.home.list(projectCollections(o.home.projectID))
	return o
}

func startPlane(t *testing.T, options plane.Options) *plane.Plane {
	t.Helper()
	started, err := plane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return started
}

func kubernetesClient(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(scheme.AddToScheme(s))
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// classes makes the classes of volumes in the cluster to be torn down: of Cinder, kept, later, and of another driver.
func (o *orbit) classes(t *testing.T) {
	t.Helper()
	class := func(name, driver string, policy corev1.PersistentVolumeReclaimPolicy, mode storagev1.VolumeBindingMode) {
		t.Helper()
		if err := o.inside.Create(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver,
			ReclaimPolicy: &policy, VolumeBindingMode: &mode}); err != nil {
			t.Fatal(err)
		}
	}
	class("cinder", standin.Driver, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate)
	class("kept", standin.Driver, corev1.PersistentVolumeReclaimRetain, storagev1.VolumeBindingImmediate)
	class("late", standin.Driver, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer)
	class("foreign", foreignDriver, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate)
}

// within waits until a condition holds, and logs its last error if it does not.
func within(t testing.TB, what string, condition func() error) {
	t.Helper()
	err := errors.New("not tried")
	defer func() {
		if err != nil {
			t.Logf("%s: %v", what, err)
		}
	}()
	eventually(t, what, func() bool { err = condition(); return err == nil })
}

// mayAll reads an audit log: whatever Groundskeeper's processes requested, they had permission to.
func mayAll(log string) error {
	file, err := os.Open(log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var rejected []string
	lines, read := bufio.NewScanner(file), 0
	lines.Buffer(nil, 16<<20)
	for ; lines.Scan(); read++ {
		var event struct {
			Verb, RequestURI string
			User             struct{ Username string }
			Annotations      map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
			rejected = append(rejected, fmt.Sprintf("%s may not %s %s", event.User.Username, event.Verb, event.RequestURI))
		}
	}
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("%s: %w", log, lines.Err())
	case read == 0:
		return fmt.Errorf("%s is empty", log)
	case len(rejected) > 0:
		return errors.New("permissions are missing:\n" + strings.Join(rejected, "\n"))
	}
	return nil
}

// TestMayAll checks that the check of the audit log finds violations.
func TestMayAll(t *testing.T) {
	line := func(decision string) string {
		return fmt.Sprintf(`{"verb":"list","requestURI":"/api/v1/pods","user":{"username":"us"},"annotations":{"authorization.k8s.io/decision":%q}}`, decision) + "\n"
	}
	for name, test := range map[string]struct{ log, want string }{
		"all allowed":  {line("allow"), ""},
		"one rejected": {line("allow") + line("forbid"), "us may not list /api/v1/pods"},
		"empty":        {"", "is empty"},
		"no log":       {"x", "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			if err := os.WriteFile(path, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := mayAll(path); (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
