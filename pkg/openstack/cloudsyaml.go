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

// CloudPlaces are how errors call the places that a clouds.yaml goes with, as `key "cloud"`.
type CloudPlaces struct {
	// File has the clouds.yaml, Name the name of one of its clouds, and Authority belongs the authority that signed the
	// certificate of the cloud to.
	File, Name, Authority string
}

// ChooseCloud reads one cloud of a clouds.yaml: the one of that name, or the only one when there is no name. The others
// of the file are not looked at. Its errors begin with the place and never repeat a value.
func ChooseCloud(text []byte, name string, places CloudPlaces) (Credentials, error) {
	var file struct {
		Clouds map[string]json.RawMessage `json:"clouds"`
	}
	// The YAML parser's errors quote the text, which may be a password, and doubled keys are an error, too.
	text, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Credentials{}, fmt.Errorf("%s is not YAML, or has a field twice", places.File)
	}
	if err := decodeStrict(text, &file); err != nil {
		return Credentials{}, fmt.Errorf("%s: %w", places.File, err)
	}
	if name = strings.TrimSpace(name); name == "" {
		if len(file.Clouds) != 1 {
			return Credentials{}, fmt.Errorf("%s has %d clouds: name one in %s", places.File, len(file.Clouds), places.Name)
		}
		for name = range file.Clouds {
		}
	}
	entry, ok := file.Clouds[name]
	if !ok {
		return Credentials{}, fmt.Errorf("%s names no cloud of %s", places.Name, places.File)
	}
	var chosen cloud
	if err := decodeStrict(entry, &chosen); err != nil {
		return Credentials{}, fmt.Errorf("%s: the chosen cloud: %w", places.File, err)
	}
	c, err := chosen.credentials(places.Authority)
	if err != nil {
		return Credentials{}, fmt.Errorf("%s: the chosen cloud %w", places.File, err)
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

// credentials checks an entry and reads the credentials. Authority is where authorities belong to.
func (c cloud) credentials(authority string) (Credentials, error) {
	a := c.Auth
	read := Credentials{
		AuthURL: a.AuthURL, Region: c.RegionName, Interface: strings.TrimSuffix(c.Interface+c.EndpointType, "URL"),
		Username: a.Username, UserID: a.UserID, UserDomainName: a.UserDomainName, UserDomainID: a.UserDomainID, Password: a.Password,
		ProjectID: a.ProjectID, ProjectName: a.ProjectName, ProjectDomainName: a.ProjectDomainName, ProjectDomainID: a.ProjectDomainID,
		ApplicationCredentialID: a.ApplicationID, ApplicationCredentialName: a.ApplicationName, ApplicationCredentialSecret: a.ApplicationSecret,
	}
	if err := CheckAuthURL(a.AuthURL); err != nil {
		return read, fmt.Errorf("auth.auth_url %w", err)
	}
	password, application := []string{"password", "v3password"}, []string{"v3applicationcredential"}
	switch {
	case c.CACert != "" || c.Cert != "" || c.Key != "":
		return read, fmt.Errorf("names files in cacert, cert or key, which only its author has: put the authority into %s", authority)
	case c.Verify != nil && !*c.Verify:
		return read, fmt.Errorf("turns verification off: remove verify, and put the authority into %s", authority)
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
