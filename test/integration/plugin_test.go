// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// plugin runs "kubectl groundskeeper", responding to its prompts.
func (s *shop) plugin(response string, args ...string) (string, error) {
	s.Helper()
	command := exec.CommandContext(s.Context(), s.Kubectl(), append([]string{"groundskeeper", "--kubeconfig", s.AdminKubeconfig()}, args...)...)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(s.Kubectl())+":"+os.Getenv("PATH"))
	command.Stdin = strings.NewReader(response)
	out, err := command.CombinedOutput()
	return string(out), err
}

// prints runs the plugin and checks that its output contains texts.
func (s *shop) prints(response string, args []string, texts ...string) {
	s.Helper()
	out, err := s.plugin(response, args...)
	reports := args[0] == "status" || args[0] == "why" // with the exit code 1 when there are findings
	if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && (!reports || !failed || exit.ExitCode() != 1) {
		s.Fatalf("%q: %v: %s", args, err, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			s.Errorf("%q does not print %q but:\n%s", args, text, out)
		}
	}
}

// testPlugin checks that the plugin drains and restores a backend, reports the progress, and deletes a Kluster.
func testPlugin(s *shop) {
	route := s.apply("dev", proxyManifest)
	s.apply("dev", `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: alone}
spec:
  virtualhost: {fqdn: alone.example.com}
  routes: [{services: [{name: us-web, port: 80}]}]
`)
	s.is(s.us, "False/Enabled")
	s.kubectl(s.T, "wait", "--namespace", s.us.Namespace, "--for=jsonpath={.status.routes.matching}=2", "--timeout=2m", "dbe/"+s.us.Name)
	in := []string{"--namespace", s.us.Namespace}
	drain := append([]string{"drain", s.us.Name}, in...)
	s.prints("", append(drain, "--dry-run"), "2 routes send traffic to gimbal-discovery/"+s.us.Name, "1 of them have no other backend, and will RETURN ERRORS", "HTTPProxy "+s.namespace+"/alone")
	if out, err := s.plugin("n\n", drain...); err == nil || !strings.Contains(out, "nothing was changed") {
		s.Errorf("a no is no no: %v %s", err, out)
	}
	s.weights(route, "[- -][70 30]")
	s.prints("y\n", drain, "Take gimbal-discovery/"+s.us.Name+" out of service? [y/N]", "2 of 2 routes", "drained")
	s.prints("", []string{"status"}, "DiscoveryBackends", "· gimbal-discovery/"+s.us.Name, "is in maintenance and drained")
	s.prints("", append(drain, "--undo", "--yes"), "back in service")
	s.weights(route, "[- -][70 30]")
	s.prints("", append([]string{"why", "dbe/" + s.us.Name}, in...), "NoImage")

	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web", Annotations: map[string]string{kubernikusv1.TerminationProtectionAnnotation: "yes"}}}
	s.create(k)
	deorbit := []string{"deorbit", "web", "--namespace", s.namespace}
	if out, err := s.plugin("y\n", deorbit...); err == nil || !strings.Contains(out, "protects it: remove that first") {
		s.Errorf("it deletes what is protected: %v %s", err, out)
	}
	s.kubectl(s.T, "annotate", "--namespace", s.namespace, "kluster/web", kubernikusv1.TerminationProtectionAnnotation+"-")
	if out, err := s.plugin("y\n", deorbit...); err == nil || !strings.Contains(out, "no controller would deorbit") {
		s.Errorf("it deletes what no controller tears down: %v %s", err, out)
	}
	s.kubectl(s.T, "patch", "--namespace", s.namespace, "kluster/web", "--subresource=status", "--type=merge", "--patch", // as the controllers do
		`{"status":{"conditions":[{"type":"OpenStackReachable","status":"True","reason":"Reachable","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	if out, err := s.plugin("y\n", deorbit...); err == nil || !strings.Contains(out, `the controller "kluster-deorbit" is disabled`) {
		s.Errorf("it takes a condition of the past for a controller that runs: %v %s", err, out)
	}
	s.kubectl(s.T, "annotate", "--namespace", s.namespace, "kluster/web", "confirmation.gardener.cloud/deletion=true")
	s.kubectl(s.T, "delete", "--namespace", s.namespace, "kluster/web", "--wait=false")
	s.prints("", []string{"why", "kluster/web", "--namespace", s.namespace}, "is being deleted", "is blocked by the finalizer kubernikus.sap.cc/deorbiter")
	s.kubectl(s.T, "patch", "--namespace", s.namespace, "kluster/web", "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`)
	if out, err := s.plugin("", "why", "secret/web"); err == nil || !strings.Contains(out, "is not one of these kinds") {
		s.Errorf("got %v %s", err, out)
	}
}
