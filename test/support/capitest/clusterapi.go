// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// withoutMigration keeps Cluster API from changing the versions in which objects are stored.
const withoutMigration = "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"

// clusterAPI is how the core controllers of Cluster API run.
type clusterAPI struct {
	port int
	// directory has the certificate of their webhooks, and ca is what it is verified with.
	directory string
	ca        []byte
	// Stop stops them.
	stop func()
}

func (w *World) newClusterAPI() clusterAPI {
	w.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Write("tls.key", string(key))
	return clusterAPI{port: planetest.FreePort(w), directory: filepath.Dir(w.Write("tls.crt", string(certificate))), ca: certificate}
}

// StartClusterAPI runs the core controllers until they are stopped, or the test ends. They serve webhooks, of which Serve registers those
// that convert objects.
func (w *World) StartClusterAPI(flags ...string) {
	w.Helper()
	w.capi.stop = w.Run(w.Binary("cluster-api-controllers", "cluster-api"), []string{"POD_NAMESPACE=" + Namespace, "POD_NAME=cluster-api"}, append([]string{
		"--kubeconfig=" + w.Plane.AdminKubeconfig(), "--webhook-port=" + strconv.Itoa(w.capi.port), "--webhook-cert-dir=" + w.capi.directory,
		"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--feature-gates=ClusterTopology=true,RuntimeSDK=true", "-v=2",
	}, flags...)...)
}

// StopClusterAPI stops the core controllers, and with them the conversion of objects.
func (w *World) StopClusterAPI() { w.capi.stop() }

// Versioned are the kinds of Cluster API that have versions v1beta1 and v1beta2.
var Versioned = []string{"clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io"}

// Serve makes a version the one in which new objects are stored, and serves only the given versions. Cluster API converts the objects.
func (w *World) Serve(stored string, served ...string) {
	w.Helper()
	for _, name := range Versioned {
		definition := NewObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
				return err
			}
			spec, _ := definition.Object["spec"].(map[string]any)
			versions, _ := spec["versions"].([]any)
			for _, version := range versions {
				fields, _ := version.(map[string]any)
				name, _ := fields["name"].(string)
				fields["storage"], fields["served"] = name == stored, slices.Contains(served, name)
			}
			spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{
					"url": fmt.Sprintf("https://127.0.0.1:%d/convert", w.capi.port), "caBundle": base64.StdEncoding.EncodeToString(w.capi.ca),
				},
			}}
			return w.Client.Update(w.Context(), definition)
		})
		if err != nil {
			w.Fatal(err)
		}
	}
}

// ClusterAPILog is the path of the log of the core controllers.
func (w *World) ClusterAPILog() string { return filepath.Join(w.Dir, "cluster-api-controllers.log") }

// Logged waits until a log has a text.
func (w *World) Logged(path, text string) {
	w.Helper()
	w.Eventually("the log "+path, func(context.Context) error {
		log, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(log, []byte(text)) {
			err = fmt.Errorf("it has no %q, and ends with %s", text, log[max(0, len(log)-6000):])
		}
		return err
	})
}
