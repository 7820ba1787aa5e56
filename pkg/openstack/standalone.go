// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/flowcontrol"
)

// Connect authenticates with credentials that come from no Secret, for a process that has a cloud of its own: its rate limit is
// shared with the clients that InProject makes of it, and with no other client. A failure is an Error.
func Connect(ctx context.Context, credentials Credentials, o Options) (*Client, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	turns := flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	return connect(ctx, credentials, httpClient(dialer(credentials.trust()), turns, o), o)
}

// InProject authenticates the user of a client for another project. Connections and rate limit are those of the client.
// A failure is an Error.
func (c *Client) InProject(ctx context.Context, id string) (*Client, error) {
	return connect(ctx, c.credentials.Project(id), c.provider.HTTPClient, c.options)
}

// Project returns the credentials of the same user for the project of that id. An application credential is bound to its own:
// Keystone rejects it for any other.
func (c Credentials) Project(id string) Credentials {
	c.ProjectID, c.ProjectName, c.ProjectDomainName, c.ProjectDomainID = id, "", "", ""
	return c
}

// Variables that say where the credentials are.
const (
	variableAuthURL = "OS_AUTH_URL"
	variableCloud   = "OS_CLOUD"
	variableFile    = "OS_CLIENT_CONFIG_FILE"
)

// defaultDomain is the id of the domain that every Keystone has.
const defaultDomain = "default"

// Environment is where a process finds credentials.
type Environment struct {
	// Getenv reads a variable, "" when there is none, and ReadFile a file.
	Getenv   func(name string) string
	ReadFile func(name string) ([]byte, error)
	// CA is a file with CAs in PEM, "" for none, and CAFlag is how errors call who named it.
	CA, CAFlag string
}

// Credentials reads the variables of OpenStack's own clients, or the clouds.yaml that they name. Errors name the
// variable and never repeat a value.
// Source: https://docs.openstack.org/python-openstackclient/latest/cli/man/openstack.html#environment-variables
func (e Environment) Credentials() (Credentials, error) {
	c, err := e.read()
	if err != nil {
		return Credentials{}, err
	}
	if e.CA == "" {
		return c, nil
	}
	bundle, err := e.ReadFile(e.CA)
	if err != nil {
		return Credentials{}, fmt.Errorf("%s: %w", e.CAFlag, err)
	}
	if _, err := cert.ParseCertsPEM(bundle); err != nil {
		return Credentials{}, fmt.Errorf("%s: the file has no certificate in PEM", e.CAFlag)
	}
	c.CACert = string(bundle)
	return c, nil
}

// Source names the variable that has, or leads to, the URL of Keystone.
func (e Environment) Source() string {
	if e.Getenv(variableFile) != "" {
		return variableFile
	}
	return variableAuthURL
}

func (e Environment) read() (Credentials, error) {
	file, url := e.Getenv(variableFile), e.Getenv(variableAuthURL)
	switch {
	case file != "" && url != "":
		return Credentials{}, fmt.Errorf("both %s and %s are set: unset one of them", variableFile, variableAuthURL)
	case file != "":
		text, err := e.ReadFile(file)
		if err != nil {
			return Credentials{}, fmt.Errorf("%s: %w", variableFile, err)
		}
		return ChooseCloud(text, e.Getenv(variableCloud), CloudPlaces{File: variableFile, Name: variableCloud, CA: e.CAFlag, HasCA: e.CA != ""})
	case url == "" && e.Getenv(variableCloud) != "":
		return Credentials{}, fmt.Errorf("%s is set and %s is not: it names the clouds.yaml", variableCloud, variableFile)
	case url == "":
		return Credentials{}, fmt.Errorf("neither %s nor %s is set: set one of them", variableAuthURL, variableFile)
	}
	return e.variables()
}

// variables reads credentials that are not in a file.
func (e Environment) variables() (c Credentials, err error) {
	for _, field := range []struct {
		into  *string
		names []string
	}{
		{&c.AuthURL, []string{variableAuthURL}},
		{&c.Region, []string{"OS_REGION_NAME"}},
		{&c.Interface, []string{"OS_INTERFACE", "OS_ENDPOINT_TYPE"}},
		{&c.Username, []string{"OS_USERNAME"}},
		{&c.UserID, []string{"OS_USER_ID"}},
		{&c.UserDomainName, []string{"OS_USER_DOMAIN_NAME"}},
		{&c.UserDomainID, []string{"OS_USER_DOMAIN_ID"}},
		{&c.ProjectName, []string{"OS_PROJECT_NAME", "OS_TENANT_NAME"}},
		{&c.ProjectID, []string{"OS_PROJECT_ID", "OS_TENANT_ID"}},
		{&c.ProjectDomainName, []string{"OS_PROJECT_DOMAIN_NAME"}},
		{&c.ProjectDomainID, []string{"OS_PROJECT_DOMAIN_ID"}},
		{&c.ApplicationCredentialID, []string{"OS_APPLICATION_CREDENTIAL_ID"}},
		{&c.ApplicationCredentialName, []string{"OS_APPLICATION_CREDENTIAL_NAME"}},
		{&c.ApplicationCredentialSecret, []string{"OS_APPLICATION_CREDENTIAL_SECRET"}},
	} {
		if *field.into, err = e.one(field.names); err != nil {
			return Credentials{}, err
		}
	}
	c.Password = e.Getenv("OS_PASSWORD") // spaces may belong to it
	if err := CheckAuthURL(c.AuthURL); err != nil {
		return Credentials{}, fmt.Errorf("%s %w", variableAuthURL, err)
	}
	if c.Interface = strings.TrimSuffix(c.Interface, "URL"); !slices.Contains([]string{"", "public", "internal", "admin"}, c.Interface) {
		return Credentials{}, errors.New("OS_INTERFACE must be public, internal or admin")
	}
	if c.application() && (c.Password != "" || c.ProjectID != "" || c.ProjectName != "") {
		return Credentials{}, errors.New("OS_APPLICATION_CREDENTIAL_* are set beside OS_PASSWORD or a project: unset one of them")
	}
	c.completeDomains(e)
	if name := c.missing(func(field string) string { return "OS_" + strings.ToUpper(field) }); name != "" {
		return Credentials{}, fmt.Errorf("%s is not set: it is required with %s", name, variableAuthURL)
	}
	return c, nil
}

// one reads a value that has several names. Two of them that differ are a mistake.
func (e Environment) one(names []string) (string, error) {
	found, by := "", ""
	for _, name := range names {
		switch value := strings.TrimSpace(e.Getenv(name)); {
		case value == "":
		case found != "" && value != found:
			return "", fmt.Errorf("%s and %s are set and differ: unset one of them", by, name)
		default:
			found, by = value, name
		}
	}
	return found, nil
}

// completeDomains sets defaults for the domains: that of the project is the one of the user, whose default is "default".
func (c *Credentials) completeDomains(e Environment) {
	if c.UserDomainName == "" && c.UserDomainID == "" {
		c.UserDomainName, c.UserDomainID = strings.TrimSpace(e.Getenv("OS_DOMAIN_NAME")), strings.TrimSpace(e.Getenv("OS_DOMAIN_ID"))
		if c.UserDomainName == "" && c.UserDomainID == "" {
			c.UserDomainID = defaultDomain
		}
	}
	if c.ProjectDomainName == "" && c.ProjectDomainID == "" {
		c.ProjectDomainName, c.ProjectDomainID = c.UserDomainName, c.UserDomainID
	}
}
