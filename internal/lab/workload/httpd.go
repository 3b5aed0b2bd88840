package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

const httpdName = "httpd"

// moduleFolders are the folders of Apache's modules in common distributions.
var moduleFolders = []string{
	"/usr/lib/apache2/modules", "/usr/lib64/apache2/modules", "/usr/lib/httpd/modules", "/usr/lib64/httpd/modules",
	"/usr/local/apache2/modules",
}

// httpdThreads is how many connections one of httpd's processes serves at once.
const httpdThreads = 64

// httpdConfig is a minimal server for the flows. httpd's default handler reads a whole upload and
// answers 405, and mod_asis replaces this answer by a document with status 204. So an upload is
// read completely and stored nowhere.
//
// ServerName avoids a slow name lookup without a resolver. The user is a number, because its name
// and group differ among distributions.
var httpdConfig = template.Must(template.New("").Parse(`ServerRoot "{{.Root}}"
ServerName localhost
PidFile "{{.Root}}/httpd.pid"
DefaultRuntimeDir "{{.Root}}"
ErrorLog "/dev/stderr"
LogLevel warn
User "#65534"
Group "#65534"
{{range .Modules}}<IfModule !{{.Name}}_module>
	LoadModule {{.Name}}_module "{{.Path}}"
</IfModule>
{{end}}StartServers {{.Processes}}
ServerLimit {{.Processes}}
ThreadLimit {{.Threads}}
ThreadsPerChild {{.Threads}}
MaxRequestWorkers {{.Workers}}
MinSpareThreads 1
MaxSpareThreads {{.Workers}}
Timeout 300
KeepAlive On
KeepAliveTimeout 300
MaxKeepAliveRequests 0
LimitRequestBody 0
DocumentRoot "{{.Documents}}"
<Files "{{.Accepted}}">
	SetHandler send-as-is
</Files>
ErrorDocument 405 "/{{.Accepted}}"
{{range .Listen}}Listen {{.Address}}
{{if .Once}}<VirtualHost {{.Address}}>
	ServerName localhost
	KeepAlive Off
</VirtualHost>
{{end}}{{end}}`))

type (
	httpdModule struct{ Name, Path string }
	httpdListen struct {
		Address string
		// Once closes the connection after each request.
		Once bool
	}
)

// startHTTPD starts a machine's httpd for its flows.
func (s *Session) startHTTPD(on *machine.Namespace, flows []*flow) error {
	path, err := machine.Httpd.Path()
	if err != nil {
		return fmt.Errorf("flow %s (%s): %w", flows[0].Name, flows[0].Flow.Protocol, err)
	}
	if s.content == nil {
		if s.content, err = newContent(); err != nil {
			return err
		}
	}
	root := filepath.Join(s.content.root, on.Name())
	if err := os.Mkdir(root, 0o755); err != nil {
		return fmt.Errorf("making a folder for httpd: %w", err)
	}
	modules, err := httpdModules()
	if err != nil {
		return err
	}
	o := &server{name: httpdName, on: on}
	var listen []httpdListen
	connections := 0
	for _, f := range flows {
		o.ports = append(o.ports, f.port)
		once := f.Flow.Protocol == plan.Transfers || f.Flow.Protocol == plan.Web
		listen = append(listen, httpdListen{hostPort(on.Address(), f.port), once})
		connections += 2 * f.Flow.Parallel // one may be closing while the next begins
	}
	processes := connections/httpdThreads + 1
	config, err := s.create("httpd-" + on.Name() + ".conf")
	if err != nil {
		return err
	}
	err = httpdConfig.Execute(config, map[string]any{
		"Root": root, "Documents": s.content.documents(), "Accepted": acceptedName, "Modules": modules,
		"Listen":    listen,
		"Processes": processes, "Threads": httpdThreads, "Workers": processes * httpdThreads,
	})
	if err := errors.Join(err, config.Close()); err != nil {
		return fmt.Errorf("writing httpd's configuration: %w", err)
	}
	// httpd reads its configuration before it changes to the user nobody.
	name, err := filepath.Abs(config.Name())
	if err != nil {
		return fmt.Errorf("finding httpd's configuration: %w", err)
	}
	o.answers = o.httpAnswers
	return s.serve(o, path, []string{"-D", "FOREGROUND", "-f", name}, "httpd-"+on.Name()+".log")
}

// httpdModules returns the required modules that exist as files. httpd may have the others built
// in.
func httpdModules() ([]httpdModule, error) {
	for _, folder := range moduleFolders {
		var found []httpdModule
		for _, name := range []string{"mpm_event", "unixd", "authz_core", "asis"} {
			path := filepath.Join(folder, "mod_"+name+".so")
			if _, err := os.Stat(path); err == nil {
				found = append(found, httpdModule{name, path})
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf(
		"the modules of Apache httpd are in none of %s: apt-get install %s", strings.Join(moduleFolders, ", "),
		machine.Httpd.Package,
	)
}

// httpAnswers requests a document on the server's own machine, so that no packet passes the cell.
func (o *server) httpAnswers() error {
	var c net.Conn
	err := machine.In(o.on.Namespace, func() (err error) {
		dialer := net.Dialer{Timeout: answerTime}
		c, err = dialer.DialContext(context.Background(), "tcp", hostPort(o.on.Address(), o.ports[0]))
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "GET /%s HTTP/1.0\r\n\r\n", acceptedName); err != nil {
		return err
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if fields := strings.Fields(status); len(fields) < 2 || fields[1] != "204" {
		return fmt.Errorf("it answers %q to a request that it should answer with 204", strings.TrimSpace(status))
	}
	return nil
}

// answerTime limits the time of a server's answer to its own machine.
const answerTime = 5 * time.Second
