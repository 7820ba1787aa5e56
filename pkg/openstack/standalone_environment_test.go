// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
)

// variables returns an environment, changed by pairs of name and value.
func variables(pairs ...string) map[string]string {
	all := map[string]string{"OS_AUTH_URL": "https://k.example/v3", "OS_USERNAME": "u", "OS_PASSWORD": secretWord, "OS_PROJECT_NAME": "p"}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// files returns those of the tests.
func files(t *testing.T) func(string) ([]byte, error) {
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{"/ca": ca, "/bad": []byte(secretWord), "/clouds": clouds(passwordAuth)["clouds.yaml"], "/broken": []byte("[" + secretWord)}
	return func(name string) ([]byte, error) {
		if text, ok := content[name]; ok {
			return text, nil
		}
		return nil, errors.New("no such file")
	}
}

func environment(t *testing.T, variables map[string]string, ca string) Environment {
	getenv := func(name string) string { return variables[name] }
	return Environment{Getenv: getenv, ReadFile: files(t), CA: ca, CAFlag: "--ca"}
}

func TestEnvironment(t *testing.T) {
	base := Credentials{AuthURL: "https://k.example/v3", Username: "u", Password: secretWord, UserDomainID: "default", ProjectName: "p", ProjectDomainID: "default"}
	with := func(change func(*Credentials)) Credentials {
		c := base
		change(&c)
		return c
	}
	ca, _ := files(t)("/ca")
	application := map[string]string{"OS_AUTH_URL": "https://k.example/v3", "OS_APPLICATION_CREDENTIAL_ID": "i", "OS_APPLICATION_CREDENTIAL_SECRET": secretWord}
	for name, c := range map[string]struct {
		variables map[string]string
		ca        string
		want      Credentials
	}{
		"the original's":       {variables("OS_PROJECT_NAME", "", "OS_TENANT_NAME", "p\n"), "", base},
		"one thing twice":      {variables("OS_TENANT_NAME", "p"), "", base},
		"spaces in a password": {variables("OS_PASSWORD", " x "), "", with(func(c *Credentials) { c.Password = " x " })},
		"region and interface": {variables("OS_REGION_NAME", "r", "OS_INTERFACE", "internalURL"), "", with(func(c *Credentials) { c.Region, c.Interface = "r", "internal" })},
		"project by id":        {variables("OS_PROJECT_NAME", "", "OS_PROJECT_ID", "1"), "", with(func(c *Credentials) { c.ProjectName, c.ProjectID = "", "1" })},
		"user by id":           {variables("OS_USERNAME", "", "OS_USER_ID", "1"), "", with(func(c *Credentials) { c.Username, c.UserID = "", "1" })},
		"the project is where its user is": {variables("OS_USER_DOMAIN_NAME", "d"), "",
			with(func(c *Credentials) {
				c.UserDomainName, c.UserDomainID, c.ProjectDomainName, c.ProjectDomainID = "d", "", "d", ""
			})},
		"one domain for both": {variables("OS_DOMAIN_ID", "d"), "", with(func(c *Credentials) { c.UserDomainID, c.ProjectDomainID = "d", "d" })},
		"two domains": {variables("OS_USER_DOMAIN_ID", "d", "OS_PROJECT_DOMAIN_NAME", "e"), "",
			with(func(c *Credentials) { c.UserDomainID, c.ProjectDomainName, c.ProjectDomainID = "d", "e", "" })},
		"own CA": {variables(), "/ca", with(func(c *Credentials) { c.CACert = string(ca) })},
		"application credential": {application, "", Credentials{AuthURL: "https://k.example/v3", UserDomainID: "default", ProjectDomainID: "default",
			ApplicationCredentialID: "i", ApplicationCredentialSecret: secretWord}},
		"clouds.yaml": {map[string]string{"OS_CLIENT_CONFIG_FILE": "/clouds", "OS_CLOUD": "c"}, "", Credentials{AuthURL: "https://k.example:5000", Username: "u",
			Password: secretWord, UserDomainName: "Default", ProjectName: "p", ProjectDomainID: "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := environment(t, c.variables, c.ca).Credentials()
			if err != nil || got != c.want {
				t.Errorf("got %s, %v", dump(got), err)
			}
		})
	}
}

// TestEnvironmentRejects names the variable, and repeats no value.
func TestEnvironmentRejects(t *testing.T) {
	without := func(name string) map[string]string {
		all := variables()
		maps.DeleteFunc(all, func(key, _ string) bool { return key == name })
		return all
	}
	for name, c := range map[string]struct {
		variables map[string]string
		ca        string
		want      string
	}{
		"nothing":                {map[string]string{}, "", "neither OS_AUTH_URL nor OS_CLIENT_CONFIG_FILE is set"},
		"no user":                {without("OS_USERNAME"), "", "OS_USERNAME is not set"},
		"no password":            {without("OS_PASSWORD"), "", "OS_PASSWORD is not set"},
		"no project":             {without("OS_PROJECT_NAME"), "", "OS_PROJECT_ID is not set"},
		"two projects":           {variables("OS_TENANT_NAME", secretWord), "", "OS_PROJECT_NAME and OS_TENANT_NAME are set and differ"},
		"not a URL":              {variables("OS_AUTH_URL", secretWord), "", "OS_AUTH_URL is not"},
		"another interface":      {variables("OS_INTERFACE", secretWord), "", "OS_INTERFACE must be"},
		"both ways":              {variables("OS_CLIENT_CONFIG_FILE", "/clouds"), "", "both OS_CLIENT_CONFIG_FILE and OS_AUTH_URL"},
		"two kinds":              {variables("OS_APPLICATION_CREDENTIAL_ID", "i", "OS_APPLICATION_CREDENTIAL_SECRET", "s"), "", "beside OS_PASSWORD or a project"},
		"half an application":    {map[string]string{"OS_AUTH_URL": "https://k.example", "OS_APPLICATION_CREDENTIAL_ID": "i"}, "", "OS_APPLICATION_CREDENTIAL_SECRET is not set"},
		"a cloud without a file": {map[string]string{"OS_CLOUD": "c"}, "", "OS_CLIENT_CONFIG_FILE is not"},
		"no such file":           {map[string]string{"OS_CLIENT_CONFIG_FILE": "/none"}, "", "OS_CLIENT_CONFIG_FILE: no such file"},
		"a broken file":          {map[string]string{"OS_CLIENT_CONFIG_FILE": "/broken"}, "", "OS_CLIENT_CONFIG_FILE: line 1: is not YAML"},
		"which cloud":            {map[string]string{"OS_CLIENT_CONFIG_FILE": "/clouds"}, "", "2 clouds: name one in OS_CLOUD"},
		"no such cloud":          {map[string]string{"OS_CLIENT_CONFIG_FILE": "/clouds", "OS_CLOUD": "x"}, "", "OS_CLIENT_CONFIG_FILE: OS_CLOUD names no cloud"},
		"no CA":                  {variables(), "/none", "--ca: no such file"},
		"not PEM":                {variables(), "/bad", "--ca: the file has no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := environment(t, c.variables, c.ca).Credentials()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secretWord) || got != (Credentials{}) {
				t.Errorf("got %s, %v, want %q", dump(got), err, c.want)
			}
		})
	}
}
