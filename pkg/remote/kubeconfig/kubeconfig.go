// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig reads kubeconfigs that users wrote into a Secret. Such a file controls what Groundskeeper's process does:
// it could have it run a command (exec), read its own files (tokenFile and its like) or send credentials in clear text.
// Therefore only credentials inside the file are accepted, and only over https; a proxy only if an administrator allows it.
//
// No error of this package has anything of the file in it, not even of what the parser complains about: a file that is
// broken may have its token anywhere. Errors name fields by their place.
package kubeconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// MaxSize is how many bytes a kubeconfig may have. A usual one has less than ten thousand.
const MaxSize = 256 << 10

// ErrProxy is why a proxy is not used, and what to do about it.
var ErrProxy = errors.New("proxy-url is not allowed, because its server, which the author of the kubeconfig chooses, is connected to " +
	"from pods of Groundskeeper: remove it, or set controllers.credentials.allowProxyURL in the configuration of the controller manager " +
	"(--allow-proxy-url of a discoverer)")

// Check reports whether a kubeconfig, in YAML or JSON, can be used.
func Check(data []byte, allowProxy bool) error {
	config, _, err := parse(data)
	if err != nil || allowProxy {
		return err
	}
	for i := range config.Clusters {
		if config.Clusters[i].Cluster.ProxyURL != "" {
			return fmt.Errorf("clusters[%d].cluster.%w", i, ErrProxy)
		}
	}
	return nil
}

// Allowed returns why nothing may connect by a config that was loaded. Which cluster it leads to is known nevertheless.
func Allowed(config *rest.Config, allowProxy bool) error {
	if config.Proxy != nil && !allowProxy {
		return ErrProxy
	}
	return nil
}

// Load returns how to connect, according to the current context of a kubeconfig. Limits and the user agent are unset. Who connects asks
// Allowed.
func Load(data []byte) (*rest.Config, error) {
	_, config, err := parse(data)
	if err != nil {
		return nil, err
	}
	loaded, err := clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("the kubeconfig cannot be used") // other mistakes were found before
	}
	return loaded, nil
}

// Server returns the address that the current context of a kubeconfig leads to, "" if there is none. That includes one that Load rejects:
// another client, such as a discoverer of an earlier version, may use it. An error means that it is unknown where the kubeconfig leads.
func Server(data []byte) (string, error) {
	if err := checkSize(data); err != nil {
		return "", err // not worth parsing
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return "", errors.New("the kubeconfig cannot be read")
	}
	if current := config.Contexts[config.CurrentContext]; current != nil && config.Clusters[current.Cluster] != nil {
		return config.Clusters[current.Cluster].Server, nil
	}
	return "", nil
}

func checkSize(data []byte) error {
	if len(data) > MaxSize {
		return fmt.Errorf("the kubeconfig has more than %d bytes", MaxSize)
	}
	return nil
}

// parse returns a kubeconfig that can be used, as it is written and as client-go uses it.
func parse(data []byte) (*clientcmdv1.Config, *clientcmdapi.Config, error) {
	config, err := decode(data)
	if err != nil {
		return nil, nil, err
	}
	if err := check(config); err != nil {
		return nil, nil, err
	}
	internal := clientcmdapi.NewConfig()
	if err := clientcmdlatest.Scheme.Convert(config, internal, nil); err != nil {
		return nil, nil, errors.New("the kubeconfig cannot be read")
	}
	return config, internal, nil
}

// decode reads strictly: what is not understood may be meant to be a restriction.
func decode(data []byte) (*clientcmdv1.Config, error) {
	if err := checkSize(data); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig is not valid YAML%s", place(err))
	}
	config := &clientcmdv1.Config{}
	strict, err := json.UnmarshalStrict(text, config)
	switch {
	case err != nil:
		return nil, errors.New("the kubeconfig has a value of the wrong type, or data that is not base64")
	case len(strict) > 0:
		return nil, errors.New("the kubeconfig has a field that is unknown or given twice: check the spelling of all fields")
	case config.Kind != "" && config.Kind != "Config", config.APIVersion != "" && config.APIVersion != clientcmdlatest.Version:
		return nil, errors.New("the kubeconfig is not of kind Config, apiVersion v1")
	}
	return config, nil
}

// line finds the one thing in a message of the parser that cannot be part of the file.
var line = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: line ([0-9]{1,6}):`)

func place(err error) string {
	if found := line.FindStringSubmatch(err.Error()); found != nil {
		return " (line " + found[1] + ")"
	}
	return ""
}

// check checks every entry, used or not: the current context is easily changed.
func check(config *clientcmdv1.Config) error {
	clusters, users, contexts := map[string]bool{}, map[string]bool{}, map[string]clientcmdv1.Context{}
	for i, entry := range config.Clusters {
		path := fmt.Sprintf("clusters[%d]", i)
		if clusters[entry.Name] {
			return fmt.Errorf("%s.name is there twice", path)
		}
		clusters[entry.Name] = true
		if err := checkCluster(path+".cluster", &entry.Cluster); err != nil {
			return err
		}
	}
	for i, entry := range config.AuthInfos {
		path := fmt.Sprintf("users[%d]", i)
		if users[entry.Name] {
			return fmt.Errorf("%s.name is there twice", path)
		}
		users[entry.Name] = true
		if err := checkUser(path+".user", &entry.AuthInfo); err != nil {
			return err
		}
	}
	for i, entry := range config.Contexts {
		if _, twice := contexts[entry.Name]; twice {
			return fmt.Errorf("contexts[%d].name is there twice", i)
		}
		contexts[entry.Name] = entry.Context
	}
	current, ok := contexts[config.CurrentContext]
	switch {
	case config.CurrentContext == "":
		return errors.New("current-context is missing")
	case !ok:
		return errors.New("current-context names no entry of contexts")
	case !clusters[current.Cluster]:
		return errors.New("the current context names no entry of clusters")
	case !users[current.AuthInfo]:
		return errors.New("the current context names no entry of users")
	}
	return nil
}

func checkCluster(path string, cluster *clientcmdv1.Cluster) error {
	if cluster.CertificateAuthority != "" {
		return fmt.Errorf("%s.certificate-authority is a file: put its content into certificate-authority-data", path)
	}
	if !isURL(cluster.Server, "https") {
		return fmt.Errorf("%s.server is not an https URL with a host and without credentials", path)
	}
	if cluster.ProxyURL != "" && !isURL(cluster.ProxyURL, "http", "https", "socks5") {
		return fmt.Errorf("%s.proxy-url is not an http, https or socks5 URL with a host and without credentials", path)
	}
	if data := cluster.CertificateAuthorityData; len(data) > 0 {
		if _, err := cert.ParseCertsPEM(data); err != nil {
			return fmt.Errorf("%s.certificate-authority-data has no certificate in PEM", path)
		}
		if cluster.InsecureSkipTLSVerify {
			return fmt.Errorf("%s has both insecure-skip-tls-verify and certificate-authority-data", path)
		}
	}
	return nil
}

func checkUser(path string, user *clientcmdv1.AuthInfo) error {
	switch {
	case user.Exec != nil:
		return fmt.Errorf("%s.exec runs a command: use a token or a client certificate", path)
	case user.AuthProvider != nil:
		return fmt.Errorf("%s.auth-provider is not supported: use a token or a client certificate", path)
	case user.TokenFile != "":
		return fmt.Errorf("%s.tokenFile is a file: put its content into token", path)
	case user.ClientCertificate != "":
		return fmt.Errorf("%s.client-certificate is a file: put its content into client-certificate-data", path)
	case user.ClientKey != "":
		return fmt.Errorf("%s.client-key is a file: put its content into client-key-data", path)
	}
	if strings.ContainsFunc(user.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%s.token has a blank, a line break or another character that an HTTP header cannot have: copy the token without it",
			path)
	}
	certificate := len(user.ClientCertificateData) > 0 || len(user.ClientKeyData) > 0
	if certificate {
		if _, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData); err != nil {
			return fmt.Errorf("%s: client-certificate-data and client-key-data are not a certificate and its key in PEM", path)
		}
	}
	switch {
	case user.Token != "" && user.Username != "":
		return fmt.Errorf("%s has both a token and a username: which one counts is not defined", path)
	case !certificate && user.Token == "" && user.Username == "":
		return fmt.Errorf("%s has no credentials: use a token or a client certificate", path)
	}
	return nil
}

// isURL reports whether a text is an absolute URL of one of the schemes, with a host and without what does not belong into
// the address of a server. It rules out unix sockets and credentials that would end up in logs.
func isURL(text string, schemes ...string) bool {
	parsed, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, parsed.Scheme) && parsed.Hostname() != "" && parsed.Opaque == "" &&
		parsed.User == nil && parsed.RawQuery == "" && !parsed.ForceQuery && parsed.Fragment == ""
}
