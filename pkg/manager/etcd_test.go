// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// What the manifests of etcd name is what the certificates are made for: the Secrets, the name of members, the hosts.
func TestEtcdCertificatesFitTheManifests(t *testing.T) {
	options := etcdCertificates()
	read := func(file string) string {
		content, err := os.ReadFile("../../artifacts/install/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	members, api, roles := read("high-availability/etcd.yaml"), read("replicas/etcd-client-files.yaml"), read("high-availability/etcd-certificates.yaml")
	server, client := options.Leaves[0], options.Leaves[1]
	for what, has := range map[string]bool{
		"etcd mounts its certificate":          strings.Contains(members, "secretName: "+server.Secret+","),
		"etcd knows members":                   strings.Contains(members, "--peer-cert-allowed-cn="+server.CommonName+"\n"),
		"API servers are no members":           client.CommonName != server.CommonName,
		"API servers mount their certificate":  strings.Contains(api, "secretName: "+client.Secret+","),
		"all of them may be written":           strings.Contains(roles, "resourceNames: ["+options.Name+", "+server.Secret+", "+client.Secret+"]"),
		"nobody mounts the authority":          !strings.Contains(members+api, options.Name),
		"the name of a client is not in DNS":   len(client.Hosts) == 0,
		"everything is in the right namespace": options.Namespace == systemNamespace,
	} {
		if !has {
			t.Errorf("it is not so that %s", what)
		}
	}
	hosts := regexp.MustCompile(`https://([a-z0-9.-]+):23`).FindAllStringSubmatch(members+read("high-availability/apiserver.yaml"), -1)
	if len(hosts) < 6 {
		t.Fatalf("%d hosts", len(hosts))
	}
	for _, host := range hosts {
		if host[1] == "0.0.0.0" {
			continue
		}
		covered := false
		for _, pattern := range server.Hosts {
			ok, err := path.Match(pattern, host[1])
			if err != nil {
				t.Fatal(err)
			}
			covered = covered || ok && strings.Count(pattern, ".") == strings.Count(host[1], ".")
		}
		if !covered {
			t.Errorf("%s is not in the certificate", host[1])
		}
	}
}
