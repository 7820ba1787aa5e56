// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// systemNamespace is the namespace of Groundskeeper's processes.
const systemNamespace = "groundskeeper-system"

// credentials are the CAs of a plane and the directory of all that they signed.
type credentials struct {
	dir               string
	cluster           *issuer // clients and servers
	frontProxy        *issuer // the aggregator
	etcd              *issuer // etcd and its clients: who reaches etcd stands above all authorization
	serviceAccountKey string  // path of the key that signs the tokens of service accounts
}

func loadCredentials(dir string) (*credentials, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &credentials{dir: dir}
	for name, issuer := range map[string]**issuer{"ca": &c.cluster, "front-proxy-ca": &c.frontProxy, "etcd-ca": &c.etcd} {
		var err error
		if *issuer, err = loadCA(dir, name); err != nil {
			return nil, err
		}
	}
	var err error
	c.serviceAccountKey, err = ensureKey(dir, "service-account")
	return c, err
}

// certificate returns the path of a certificate in the directory; its key lies beside it.
func (c *credentials) certificate(name string) string { return filepath.Join(c.dir, name+".crt") }

// key returns the path of a private key in the directory.
func (c *credentials) key(name string) string { return filepath.Join(c.dir, name+".key") }

// pair returns the paths of a certificate and its key.
func (c *credentials) pair(name string) []string { return []string{c.certificate(name), c.key(name)} }

// user is a client of kube-apiserver.
type user struct {
	name   string
	groups []string
}

// serviceAccount returns the user that a Pod with that ServiceAccount of Groundskeeper's namespace would be.
func serviceAccount(name string) user {
	return user{
		name:   "system:serviceaccount:" + systemNamespace + ":" + name,
		groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + systemNamespace},
	}
}

// clientConfig returns the configuration of a client that reaches the server with the certificate.
func clientConfig(server string, ca []byte, pair keyPair) *rest.Config {
	return &rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: pair.cert, KeyData: pair.key},
		QPS:             -1, // the server's priority and fairness is the limit
	}
}

// writeKubeconfig writes the same as a kubeconfig file, with everything inline.
func writeKubeconfig(path, server, userName string, ca []byte, pair keyPair) error {
	const name = "groundskeeper-local"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[userName] = &api.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: userName}
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", userName, err)
	}
	return writeFile(path, content)
}
