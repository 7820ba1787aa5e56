// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestFIPS checks that every binary works where only algorithms of FIPS 140-3 are allowed: any other one makes a process panic.
func TestFIPS(t *testing.T) {
	t.Parallel()
	const strict = "GODEBUG=fips140=only"
	t.Run("the API server and the controller manager", func(t *testing.T) {
		t.Parallel()
		n := newNetwork(t, func(o *plane.Options) { o.FIPS, o.SharedEtcd = true, false })
		projects := versioned.NewForConfigOrDie(n.Config()).GardenerV1beta1().Projects()
		if _, err := projects.Create(t.Context(), &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "fips"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		converge(n, n.namespace("fips"))
		eventually(t, func(ctx context.Context) error {
			project, err := projects.Get(ctx, "fips", metav1.GetOptions{})
			if err == nil && project.Status.Phase != gardenerv1beta1.ProjectReady {
				return fmt.Errorf("phase %q", project.Status.Phase)
			}
			return err
		})
		command := exec.CommandContext(t.Context(), n.Kubectl(), "groundskeeper", "--kubeconfig", n.AdminKubeconfig(), "status")
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(n.Kubectl())+":"+os.Getenv("PATH"), strict)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("kubectl groundskeeper status: %v\n%s", err, out)
		}
	})
	admin := shared.AdminKubeconfig()
	for name, process := range map[string]struct {
		listen string
		flags  []string
		read   string // a metric of requests
	}{
		"groundskeeper-discoverer": {"--prometheus-listen-address=", []string{
			"kubernetes", "--backend-name=nobody", "--backend-namespace=default", "--gimbal-kubecfg-file=" + admin, "--discover-kubecfg-file=" + admin,
		}, "gimbal_discoverer_api_latency_milliseconds_count"},
		"groundskeeper-local-volume-node-cleanup": {"--listen-address=", []string{"--dry-run", "--namespace=default", "--kubeconfig=" + admin},
			`rest_client_requests_total{code="200"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := "127.0.0.1:" + freePort(t)
			c := &cleaner{startWithEnv(t, t.Context(), []string{strict}, name, append(process.flags, process.listen+address)...), t, address}
			eventually(t, func(context.Context) error {
				select {
				case err := <-c.ended:
					t.Fatalf("it ended: %v\n%s", err, strings.Join(c.stderr.lines(), "\n"))
				default:
				}
				metrics, err := c.read("/metrics")
				if err == nil && !strings.Contains(metrics, process.read) {
					err = errors.New("it has read nothing from an API server yet")
				}
				return err
			})
		})
	}
}
