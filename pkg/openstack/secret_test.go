// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// keys are data of a Secret, changed by pairs of key and value; the value "-" removes the key.
func keys(pairs ...string) map[string][]byte {
	data := map[string][]byte{
		"openstack-auth-url": []byte("https://keystone.example/v3"), "openstack-username": []byte("u"), "openstack-password": []byte(secretWord),
		"openstack-domain-name": []byte("Default"), "openstack-project-id": []byte("p"), "tls-ca.pem": []byte("x"),
	}
	for i := 0; i < len(pairs); i += 2 {
		if data[pairs[i]] = []byte(pairs[i+1]); pairs[i+1] == "-" {
			delete(data, pairs[i])
		}
	}
	return data
}

// clouds is a clouds.yaml with an entry "c" of these lines, and some other that is wrong.
func clouds(lines ...string) map[string][]byte {
	text := "clouds:\n  other: {nonsense: true}\n  c:\n    " + strings.Join(lines, "\n    ") + "\n"
	return map[string][]byte{"clouds.yaml": []byte(text), "cloud": []byte("c\n")}
}

const passwordAuth = "auth: {auth_url: 'https://k.example:5000', username: u, password: " + secretWord +
	", user_domain_name: Default, project_name: p, project_domain_id: default}"

func TestCredentialsOf(t *testing.T) {
	authority, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	base := Credentials{AuthURL: "https://keystone.example/v3", Username: "u", Password: secretWord, UserDomainName: "Default", ProjectID: "p"}
	with := func(change func(*Credentials)) Credentials {
		c := base
		change(&c)
		return c
	}
	file := Credentials{AuthURL: "https://k.example:5000", Username: "u", Password: secretWord, UserDomainName: "Default", ProjectName: "p", ProjectDomainID: "default"}
	regional := file
	regional.Region, regional.Interface = "r1", "internal"
	application := Credentials{AuthURL: "https://k.example/v3", ApplicationCredentialID: "i", ApplicationCredentialSecret: secretWord}
	for name, c := range map[string]struct {
		data map[string][]byte
		want Credentials
	}{
		"kubernikus":             {keys(), base},
		"a line end in a key":    {keys("openstack-region", "r1\n"), with(func(c *Credentials) { c.Region = "r1" })},
		"a password with spaces": {keys("openstack-password", " x "), with(func(c *Credentials) { c.Password = " x " })},
		"project by name": {keys("openstack-project-id", "-", "openstack-project-name", "n", "openstack-project-domain-name", "d"),
			with(func(c *Credentials) { c.ProjectID, c.ProjectName, c.ProjectDomainName = "", "n", "d" })},
		"user domain by id":         {keys("openstack-domain-name", "-", "openstack-user-domain-id", "i"), with(func(c *Credentials) { c.UserDomainName, c.UserDomainID = "", "i" })},
		"own authority":             {keys("cacert", string(authority)), with(func(c *Credentials) { c.CACert = string(authority) })},
		"clouds.yaml":               {clouds(passwordAuth), file},
		"region and interface":      {clouds(passwordAuth, "region_name: r1", "endpoint_type: internalURL", "identity_api_version: 3", "auth_type: password"), regional},
		"application credential":    {clouds("auth_type: v3applicationcredential", "auth: {auth_url: 'https://k.example/v3', application_credential_id: i, application_credential_secret: "+secretWord+"}"), application},
		"the only cloud has a name": {map[string][]byte{"clouds.yaml": []byte("clouds: {one: {" + passwordAuth + "}}")}, file},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CredentialsOf(c.data)
			if err != nil || got != c.want {
				t.Errorf("got %s, %v", dump(got), err)
			}
		})
	}
}

// dump shows all fields, past the type's own printing.
func dump(c Credentials) string {
	type plain Credentials
	return fmt.Sprintf("%+v", plain(c))
}

func TestCredentialsOfRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"nothing":                 {nil, `neither key "clouds.yaml" nor key "openstack-auth-url"`},
		"both":                    {keys("clouds.yaml", "clouds: {}"), "remove one of them"},
		"a misspelled key":        {keys("openstack-pasword", secretWord), `"openstack-pasword"`},
		"no password":             {keys("openstack-password", "-"), `no key "openstack-password"`},
		"no domain":               {keys("openstack-domain-name", "-"), `no key "openstack-domain-name"`},
		"no project":              {keys("openstack-project-id", "-"), `no key "openstack-project-id"`},
		"no project domain":       {keys("openstack-project-id", "-", "openstack-project-name", "n"), `no key "openstack-project-domain-name"`},
		"credentials in the URL":  {keys("openstack-auth-url", "https://u:"+secretWord+"@k.example/v3"), `key "openstack-auth-url" is not`},
		"not PEM":                 {keys("cacert", secretWord), `key "cacert"`},
		"not YAML":                {map[string][]byte{"clouds.yaml": []byte("clouds: {c: {password: *" + secretWord + "}}")}, "is not YAML"},
		"a doubled field":         {clouds(passwordAuth, "verify: true", "verify: false"), "has a field twice"},
		"not a map":               {map[string][]byte{"clouds.yaml": []byte(secretWord)}, "not made like"},
		"an unknown field":        {clouds(passwordAuth, "region: "+secretWord), `unknown field "region"`},
		"a field of another type": {clouds("auth: {auth_url: 'https://k.example', password: 4711}"), `field "auth.password" has the wrong type`},
		"no such cloud":           {map[string][]byte{"clouds.yaml": []byte("clouds: {a: {}}"), "cloud": []byte("b")}, `key "cloud" names no cloud`},
		"several clouds":          {map[string][]byte{"clouds.yaml": []byte("clouds: {a: {}, b: {}}")}, `2 clouds: name one in key "cloud"`},
		"a path":                  {clouds(passwordAuth, "cacert: /etc/ssl/ca.pem"), `put the authority into key "cacert"`},
		"no verification":         {clouds(passwordAuth, "verify: false"), "turns verification off"},
		"version 2":               {clouds(passwordAuth, "identity_api_version: '2.0'"), "identity_api_version must be 3"},
		"another auth type":       {clouds(passwordAuth, "auth_type: v3totp"), "auth_type must be"},
		"an application credential without a secret": {clouds("auth: {auth_url: 'https://k.example', application_credential_id: i}"), "no auth.application_credential_secret"},
		"an application credential and a password":   {clouds("auth: {auth_url: 'https://k.example', application_credential_id: i, application_credential_secret: s, password: " + secretWord + "}"), "has both an application credential and a password"},
		"no user": {clouds("auth: {auth_url: 'https://k.example', password: " + secretWord + "}"), "no auth.username"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := CredentialsOf(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secretWord) {
				t.Errorf("got %v, want %q in it and no value", err, c.want)
			}
		})
	}
}

func TestCredentialsPrintNoSecret(t *testing.T) {
	c := Credentials{AuthURL: "https://k.example/v3", Password: secretWord, ApplicationCredentialSecret: secretWord}
	encoded, err := json.Marshal(map[string]any{"c": c, "p": &c})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(c, &c), fmt.Sprintf("%v %+v %#v %s %q %d", c, c, c, c, c, c), string(encoded), fmt.Sprint(c.MarshalLog())} {
		if strings.Contains(text, secretWord) || !strings.Contains(text, "k.example") {
			t.Errorf("printed %s", text)
		}
	}
}
