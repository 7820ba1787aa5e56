// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
)

// ConnectionOf returns what leads to a cluster, as status.identity has it: the address of the API server, and a hash of everything that
// selects it. The credentials are not part of it: they may be renewed, and are worth nothing at another API server.
func ConnectionOf(config *rest.Config) (server, connection string) {
	server = config.Host
	if u, err := url.Parse(config.Host); err == nil && u.Hostname() != "" {
		server = strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), "443") + strings.TrimSuffix(u.Path, "/")
	}
	hash := sha256.New()
	for _, part := range []string{server, config.ServerName, string(config.CAData)} {
		// The length keeps the parts apart.
		hash.Write([]byte{byte(len(part) >> 16), byte(len(part) >> 8), byte(len(part))})
		hash.Write([]byte(part))
	}
	return server, hex.EncodeToString(hash.Sum(nil)[:16])
}

// ServerOf returns the address of the API server that a kubeconfig leads to, as ConnectionOf does, also of one that is rejected here and
// that other clients may use; "" for none, or while it is not known.
func ServerOf(text []byte) (server string, known bool) {
	host, err := kubeconfig.Server(text)
	if host != "" {
		server, _ = ConnectionOf(&rest.Config{Host: host})
	}
	return server, err == nil
}

// ProvenID returns the uid of the cluster that a Kluster was last proven to lead to over a connection; "" while unknown. What was learnt
// over another connection proves nothing. Without a connection, as when the Secret was deleted, it is what was learnt last.
func ProvenID(k *kubernikusv1.Kluster, connection string) string {
	if found := k.Status.Identity; found != nil && (connection == "" || connection == found.Connection) {
		return found.ClusterID
	}
	return ""
}
