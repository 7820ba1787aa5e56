// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/planetest"
)

const (
	systemNamespace = "groundskeeper-system"
	apiserver       = "groundskeeper-apiserver"
	manager         = "groundskeeper-controller-manager"
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
	*planetest.World
	log string
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
	policy, log := filepath.Join(dir, "audit.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{
		World: planetest.New(t, plane.Options{KubeAPIServerFlags: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log}}),
		log:   log, ports: map[string]int{}, deployments: map[string]*unstructured.Unstructured{},
	}
	for _, name := range []string{apiserver, manager, "health"} {
		w.ports[name] = planetest.FreePort(t)
	}
	return w
}

// binary returns the path of a program.
func (w *world) binary(name string) string {
	w.Helper()
	return w.Binary(name, "cert-manager build")
}

// run runs a program until the test ends.
func (w *world) run(name string, args ...string) {
	w.Helper()
	w.Run(w.binary(name), nil, args...)
}

// account returns the kubeconfig of a ServiceAccount of Groundskeeper.
func (w *world) account(name string) string {
	w.Helper()
	path := filepath.Join(w.Dir, name+".kubeconfig")
	if err := w.Plane.KubeconfigFor(path, "system:serviceaccount:"+systemNamespace+":"+name, "system:serviceaccounts", audit.Accounts); err != nil {
		w.Fatal(err)
	}
	return path
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
