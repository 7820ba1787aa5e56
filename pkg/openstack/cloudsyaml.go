// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// cloud is an entry of a clouds.yaml with the fields that we use or refuse. Others are unknown, and told.
// Source: https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
type cloud struct {
	Auth struct {
		AuthURL           string `json:"auth_url"`
		Username          string `json:"username"`
		UserID            string `json:"user_id"`
		Password          string `json:"password"`
		UserDomainName    string `json:"user_domain_name"`
		UserDomainID      string `json:"user_domain_id"`
		ProjectID         string `json:"project_id"`
		ProjectName       string `json:"project_name"`
		ProjectDomainName string `json:"project_domain_name"`
		ProjectDomainID   string `json:"project_domain_id"`
		ApplicationID     string `json:"application_credential_id"`
		ApplicationName   string `json:"application_credential_name"`
		ApplicationSecret string `json:"application_credential_secret"`
	} `json:"auth"`
	AuthType        string `json:"auth_type"`
	RegionName      string `json:"region_name"`
	Interface       string `json:"interface"`
	EndpointType    string `json:"endpoint_type"`
	IdentityVersion any    `json:"identity_api_version"`
	Verify          *bool  `json:"verify"`
	CACert          string `json:"cacert"`
	Cert            string `json:"cert"`
	Key             string `json:"key"`
}

// fromClouds reads one cloud of a clouds.yaml. The others of the file are not looked at.
func fromClouds(data map[string][]byte) (Credentials, error) {
	var file struct {
		Clouds map[string]json.RawMessage `json:"clouds"`
	}
	// The YAML parser's errors quote the text, which may be a password, and doubled keys are an error, too.
	text, err := yaml.YAMLToJSONStrict(data[KeyClouds])
	if err != nil {
		return Credentials{}, fmt.Errorf("key %q is not YAML, or has a field twice", KeyClouds)
	}
	if err := decodeStrict(text, &file); err != nil {
		return Credentials{}, fmt.Errorf("key %q: %w", KeyClouds, err)
	}
	name := strings.TrimSpace(string(data[KeyCloud]))
	if name == "" {
		if len(file.Clouds) != 1 {
			return Credentials{}, fmt.Errorf("key %q has %d clouds: name one in key %q", KeyClouds, len(file.Clouds), KeyCloud)
		}
		for name = range file.Clouds {
		}
	}
	entry, ok := file.Clouds[name]
	if !ok {
		return Credentials{}, fmt.Errorf("key %q names no cloud of key %q", KeyCloud, KeyClouds)
	}
	var chosen cloud
	if err := decodeStrict(entry, &chosen); err != nil {
		return Credentials{}, fmt.Errorf("key %q: the chosen cloud: %w", KeyClouds, err)
	}
	c, err := chosen.credentials()
	if err != nil {
		return Credentials{}, fmt.Errorf("key %q: the chosen cloud %w", KeyClouds, err)
	}
	return c, nil
}

// decodeStrict decodes JSON, wants to know all fields, and repeats no value in its error.
func decodeStrict(data []byte, into any) error {
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return fmt.Errorf("field %q has the wrong type", wrong.Field)
		}
		return errors.New("is not made like a clouds.yaml")
	}
	if len(unknown) > 0 {
		return unknown[0]
	}
	return nil
}

// credentials checks an entry and reads the credentials.
func (c cloud) credentials() (Credentials, error) {
	a := c.Auth
	read := Credentials{
		AuthURL: a.AuthURL, Region: c.RegionName, Interface: strings.TrimSuffix(c.Interface+c.EndpointType, "URL"),
		Username: a.Username, UserID: a.UserID, UserDomainName: a.UserDomainName, UserDomainID: a.UserDomainID, Password: a.Password,
		ProjectID: a.ProjectID, ProjectName: a.ProjectName, ProjectDomainName: a.ProjectDomainName, ProjectDomainID: a.ProjectDomainID,
		ApplicationCredentialID: a.ApplicationID, ApplicationCredentialName: a.ApplicationName, ApplicationCredentialSecret: a.ApplicationSecret,
	}
	if err := checkAuthURL(a.AuthURL); err != nil {
		return read, fmt.Errorf("auth.auth_url %w", err)
	}
	password, application := []string{"password", "v3password"}, []string{"v3applicationcredential"}
	switch {
	case c.CACert != "" || c.Cert != "" || c.Key != "":
		return read, fmt.Errorf("names files in cacert, cert or key, which only its author has: put the authority into key %q", KeyCACert)
	case c.Verify != nil && !*c.Verify:
		return read, fmt.Errorf("turns verification off: remove verify, and put the authority into key %q", KeyCACert)
	case c.IdentityVersion != nil && fmt.Sprint(c.IdentityVersion) != "3":
		return read, errors.New("identity_api_version must be 3")
	case c.Interface != "" && c.EndpointType != "":
		return read, errors.New("has both interface and endpoint_type: remove one of them")
	case !slices.Contains([]string{"", "public", "internal", "admin"}, read.Interface):
		return read, errors.New("interface must be public, internal or admin")
	case c.AuthType != "" && !slices.Contains(append(password, application...), c.AuthType):
		return read, errors.New("auth_type must be password or v3applicationcredential")
	case read.application() && slices.Contains(password, c.AuthType):
		return read, errors.New("has auth_type password and an application credential: remove one of them")
	case !read.application() && slices.Contains(application, c.AuthType):
		return read, errors.New("has auth_type v3applicationcredential and no auth.application_credential_id")
	case read.application() && (a.Password != "" || a.ProjectID != "" || a.ProjectName != ""):
		return read, errors.New("has both an application credential and a password or a project: remove one of them")
	}
	if field := read.missing(func(field string) string { return field }); field != "" {
		return read, fmt.Errorf("has no auth.%s", field)
	}
	return read, nil
}
