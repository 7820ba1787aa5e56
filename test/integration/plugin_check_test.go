// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestCheckOfWaitingControllers checks that the plugin finds out that the controllers for Klusters are enabled and have no permissions: check
// reports it with the remedy, and deorbit deletes no Kluster that would wait forever.
func TestCheckOfWaitingControllers(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	k, _ := d.register(t, "web", "10.1.0.0/16")
	plugin := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), d.Kubectl(), append([]string{"groundskeeper", "--kubeconfig", d.AdminKubeconfig()}, args...)...)
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(d.Kubectl())+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		return string(out), err
	}
	manifests := func(verb string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), verb, "-k", "../../artifacts/kluster").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	// A manager that runs would use the permissions that are about to be removed.
	if err := d.Managers[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	manifests("delete")
	if err := d.Managers[0].Start(t.Context(), "--config="+write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
		"controllers: {credentials: {allowPlainHTTP: true}, kluster: {enabled: true}}\n")); err != nil {
		t.Fatal(err)
	}
	const remedy = "kubectl apply -k artifacts/kluster"
	eventually(t, func(context.Context) error {
		if out, err := plugin("check"); err == nil || !strings.Contains(out, "waiting for permissions: ") || !strings.Contains(out, remedy) {
			return fmt.Errorf("check: error = %w, output = %s, want %q in it", err, out, remedy)
		}
		return nil
	})
	if out, err := plugin("deorbit", "web", "--namespace", d.namespace, "--yes"); err == nil || !strings.Contains(out, remedy) {
		t.Errorf("deorbit: error = %v, output = %s, want %q in it", err, out, remedy)
	}
	if err := d.c.Get(t.Context(), client.ObjectKeyFromObject(k), k); err != nil || k.DeletionTimestamp != nil {
		t.Errorf("deleted at %v, error = %v, want that the Kluster stays", k.DeletionTimestamp, err)
	}
	manifests("apply")
	eventually(t, func(context.Context) error {
		if out, err := plugin("check"); err != nil {
			return fmt.Errorf("check: %w: %s", err, out)
		}
		return nil
	})
}
