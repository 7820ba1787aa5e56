// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"bytes"
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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	systemNamespace = "groundskeeper-system"
	apiserver       = "groundskeeper-apiserver"
	manager         = "groundskeeper-controller-manager"
	// patience is for what takes a moment.
	patience = 2 * time.Minute
)

// auditPolicy records what Groundskeeper's processes request.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:groundskeeper-system"]}
- {level: None}
`

// world is a plane with cert-manager, the manifests of an installation, and Groundskeeper's servers, started as its Deployments
// specify.
type world struct {
	*testing.T
	ctx   context.Context
	group sync.WaitGroup
	dir   string
	plane *plane.Plane
	c     client.WithWatch
	log   string
	// ports are those of Groundskeeper's servers.
	ports map[string]int
	// deployments are those of the installation.
	deployments map[string]*unstructured.Unstructured
	// config is the configuration of the controller manager.
	config string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{T: t, dir: dir, log: filepath.Join(dir, "audit.log"), deployments: map[string]*unstructured.Unstructured{}}
	policy := w.write("audit.yaml", auditPolicy)
	var err error
	w.plane, err = plane.Start(t.Context(), plane.Options{
		Dir: filepath.Join(dir, "plane"), UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + w.log},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.plane.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	// The processes below stop before the plane does.
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	t.Cleanup(func() { cancel(); w.group.Wait() })
	w.c = newClient(t, w.plane.Config())
	w.ports = freePorts(t, apiserver, manager, "health")
	return w
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

// kubectl runs kubectl as an administrator.
func (w *world) kubectl(input string, args ...string) string {
	w.Helper()
	command := exec.CommandContext(w.Context(), w.plane.Kubectl(), append([]string{"--kubeconfig", w.plane.AdminKubeconfig()}, args...)...)
	command.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		w.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, complaint.String())
	}
	return string(out)
}

// binary returns the path of a program.
func (w *world) binary(name string) string {
	w.Helper()
	path := filepath.Join(filepath.Dir(w.plane.Kubectl()), name)
	if _, err := os.Stat(path); err != nil {
		w.Fatalf("there is no %s: \"make cert-manager build\" builds it", name)
	}
	return path
}

// run runs a program until the test ends; when that failed, the end of its log is shown.
func (w *world) run(name string, args ...string) {
	w.Helper()
	path := filepath.Join(w.dir, name+".log")
	log, err := os.Create(path)
	if err != nil {
		w.Fatal(err)
	}
	command := exec.CommandContext(w.ctx, w.binary(name), args...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST=", "KUBERNETES_SERVICE_PORT=") // not a Pod
	if err := command.Start(); err != nil {
		w.Fatal(err)
	}
	w.group.Go(func() {
		if err := command.Wait(); w.ctx.Err() == nil {
			w.Errorf("%s ended: %v", name, err)
		}
		_ = log.Close()
		if content, err := os.ReadFile(path); err == nil && w.Failed() {
			w.Logf("%s: …%s", name, content[max(0, len(content)-4000):])
		}
	})
}

// account returns the kubeconfig of a ServiceAccount of Groundskeeper.
func (w *world) account(name string) string {
	w.Helper()
	path := filepath.Join(w.dir, name+".kubeconfig")
	if err := w.plane.KubeconfigFor(path, "system:serviceaccount:"+systemNamespace+":"+name, "system:serviceaccounts", audit.Accounts); err != nil {
		w.Fatal(err)
	}
	return path
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
		w.Fatalf("%s: %v: %v", what, err, last)
	}
}

// freePorts returns ports of loopback that no client listens on, by name.
func freePorts(t *testing.T, names ...string) map[string]int {
	t.Helper()
	ports := map[string]int{}
	for _, name := range names {
		port, err := plane.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		ports[name] = port
	}
	return ports
}

func (w *world) address(server string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(w.ports[server]))
}

// args returns those of a Deployment, without those that only a Pod can have, with paths in a directory of the test instead of a
// mount.
func (w *world) args(deployment string, mounts map[string]string, without ...string) []string {
	w.Helper()
	containers, _, err := unstructured.NestedSlice(w.deployments[deployment].Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		w.Fatalf("%s has %d containers: %v", deployment, len(containers), err)
	}
	given, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if err != nil {
		w.Fatal(err)
	}
	var args []string
next:
	for _, arg := range given {
		for _, prefix := range without {
			if strings.HasPrefix(arg, prefix) {
				continue next
			}
		}
		for mount, dir := range mounts {
			arg = strings.Replace(arg, "="+mount+"/", "="+dir+"/", 1)
		}
		args = append(args, arg)
	}
	return args
}

// decode reads the manifests that kubectl prints.
func (w *world) decode(content string) []*unstructured.Unstructured {
	w.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(content, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			w.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func identity(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
}
