// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package capitest has management clusters with Groundskeeper and Cluster API, for tests with any OpenStack. The core controllers of
// Cluster API are its own; its provider for OpenStack, which the Go module proxy does not have, is a stand-in.
package capitest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// Namespace is where Clusters are.
const Namespace = "clusters"

// World is a plane with Groundskeeper, Cluster API and the provider.
type World struct {
	*planetest.World
	Provider *Provider

	cloud  Cloud
	config string
	capi   clusterAPI
}

// New starts it. The settings are those of controllers.kluster.clusterAPI, besides that it is enabled.
func New(t *testing.T, cloud Cloud, settings string) *World {
	t.Helper()
	w := &World{World: planetest.New(t, Management()), cloud: cloud}
	w.Patience = 4 * time.Minute
	w.config = w.Write("config.yaml", fmt.Sprintf(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
controllers:
  credentials: {allowPlainHTTP: true} # the cloud is on loopback
  kluster:
    enabled: true
    routeGC: {interval: 1h}
    deorbit: {pollInterval: 1s, stageTimeout: 20s, apiUnavailableTimeout: 5s, serviceGracePeriod: 1s}
    clusterAPI: {enabled: true, drainTimeout: 10m%s}
`, settings))
	w.Install(w.Plane, w.Client)
	w.capi = w.newClusterAPI()
	w.StartClusterAPI(withoutMigration)
	w.Provider = newProvider(w.Client, cloud)
	w.Go(func() { w.Provider.run(t.Context()) })
	return w
}

// Management returns the options of a plane with Groundskeeper.
func Management() plane.Options {
	return plane.Options{APIServers: 1, Managers: 1, Webhooks: true, SharedEtcd: true}
}

//go:embed testdata/provider.yaml
var providerKinds string

// Install makes a plane a management cluster: it has the kinds of Cluster API, and Groundskeeper deorbits their objects.
func (w *World) Install(p *plane.Plane, c client.Client) {
	w.Helper()
	if err := c.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: map[string]string{"groundskeeper.io/deorbit": "true"}}}); err != nil {
		w.Fatal(err)
	}
	planetest.Kubectl(w.T, p, "", "apply", "-k", "../../artifacts/kluster")
	planetest.Kubectl(w.T, p, "", "apply", "-k", "../../artifacts/capi")
	// Server-side: an annotation could not have these definitions.
	planetest.Kubectl(w.T, p, "", "apply", "--server-side", "-f", w.Binary("cluster-api-crds", "cluster-api"))
	planetest.Kubectl(w.T, p, providerKinds, "apply", "-f", "-")
	planetest.Kubectl(w.T, p, "", "wait", "--for=condition=Established", "--timeout=1m", "customresourcedefinitions", "--all")
	if err := p.Managers[0].Restart(w.Context(), "--config="+w.config); err != nil {
		w.Fatal(err)
	}
}

// KillManager kills the controller manager, and starts it again.
func (w *World) KillManager(ctx context.Context) error {
	if err := w.Plane.Managers[0].Kill(ctx); err != nil {
		return fmt.Errorf("kill the controller manager: %w", err)
	}
	return w.StartManager(ctx)
}

// StartManager starts the controller manager that was killed.
func (w *World) StartManager(ctx context.Context) error {
	if err := w.Plane.Managers[0].Start(ctx, "--config="+w.config); err != nil {
		return fmt.Errorf("start the controller manager: %w", err)
	}
	return nil
}

// Clusterctl runs Cluster API's own command for users, without its configuration and its network.
func (w *World) Clusterctl(args ...string) (string, error) {
	command := exec.CommandContext(w.Context(), w.Binary("clusterctl", "cluster-api"), append(args, "--namespace="+Namespace, "--kubeconfig="+w.Plane.AdminKubeconfig())...)
	command.Env = append(os.Environ(), "HOME="+w.Dir, "XDG_CONFIG_HOME="+w.Dir, "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	out, err := command.CombinedOutput()
	return string(out), err
}

// Eventually waits until a condition reports no error.
func (w *World) Eventually(what string, condition func(ctx context.Context) error) {
	w.Helper()
	w.World.Eventually(what, func(ctx context.Context) error {
		err := condition(ctx)
		if err != nil && w.Provider != nil {
			if problem := w.Provider.failed(); problem != nil {
				err = fmt.Errorf("%w; the provider: %w", err, problem)
			}
		}
		return err
	})
}
