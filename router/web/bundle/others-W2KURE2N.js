import{$ as ie,A as xe,B as Te,C as Ce,D as Se,E as S,F as Oe,G as M,I as Re,J as X,K as _e,M as Ee,N as De,O as Ae,P as Ne,Q as Pe,R as je,S as qe,U as Le,V as Ie,W as T,X as D,Y as We,Z as U,_ as F,a as v,aa as Me,b as w,c as B,d as ge,e as ve,f as n,g as b,h as y,i as L,j as R,l as we,m as Z,n as ye,o as le,p as _,q as I,r as J,s as G,t as O,v as E,w as k,x as ke,y as W,z as N}from"./chunk-DFJVNM5G.js";function H({stores:e,rejects:t}){return n`<ul class="rejectlist">${t.map(a=>n`<li data-ui="reject"><p class="mono">${R(a.record.slice(0,500))}</p><p class="why">${R(a.error.slice(0,500))}</p>
<p class="quiet">${S(a.at,e.prefs.zone.value)} · ${a.pipeline} → ${a.table} · ${a.format} ·${" "}
<button class="text go" onClick=${()=>lt(e,a)}>Fix in pipeline</button></p></li>`)}</ul>`}async function lt({pipelines:e,place:t},a){await e.open(a.pipeline,""),e.setSamples([a.record,...e.samples.value.filter(o=>o!==a.record)]),t.set("pipelines",{name:a.pipeline,t:a.table})}function V(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function Q(e,t){return V(e)+(e.pipeline===A?`&custom_time_index=${t}`:"")}var A="svc_identity";function ee(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===A?"":` --pipeline ${e.pipeline}`}`}function de(e){return e.user?`export CORDWOOD_USER=${Z(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Ue(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==A&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function z(e){return Ue(e).map(([t,a])=>`${t}: ${P(a)}`).join(", ")}function ce(e){return Ue(e).map(([t,a])=>`"${t}" = "${a}"`).join(", ")}function P(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var it={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function pe({db:e,table:t,pipeline:a}){for(let[o,s]of[["database",e],["table",t],["pipeline",a]])if(!it[o].test(s))return`\u201C${s}\u201D cannot be the name of a ${o}. Use letters, digits, and the characters _ . : -`;return""}function j(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function ue(e,t){let a=e.split(`
`).find(o=>o.startsWith(`${t} = "`));return a?a.slice(t.length+4,a.lastIndexOf('"')):""}function $e(e,t,a){let{host:o,port:s,secure:r}=j(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${o}
      port: ${s}${r?`
      tls: on`:""}
      uri: ${Q(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===A?"iso8601":a}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${P(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function he(...e){return t=>{let a=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==A&&`pipeline=${t.pipeline}`];return e.map(o=>`${o}?${a.filter(Boolean).join("&")}`).join(",")}}var Fe=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:he("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${j(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:he("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${j(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:he("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${j(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${j(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${z(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var te=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${V(e)}' \\
     ${e.user?`-u ${Z(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${de(e)}cordwood ingest --server ${e.origin} ${ee(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${de(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${ee(e)}${e.pipeline===A?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${V(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${P(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>$e(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>$e(e,`  inputs:
    - name: tail
      path: /var/log/containers/*.log
      multiline.parser: docker, cri
      tag: kube.*
      db: /var/lib/fluent-bit/tail.db
      storage.type: filesystem
  filters:
    - name: kubernetes
      match: kube.*`,"double")},{id:"fluentd",name:"Fluentd",file:"fluentd.conf",text:e=>`<filter app.**>
  @type record_transformer       # the time of the event is not in the record
  enable_ruby true
  <record>
    time \${(time.to_f * 1000).to_i}
  </record>
</filter>
<match app.**>
  @type http
  endpoint ${Q(e,"time;epoch;ms")}
  content_type application/x-ndjson
  retryable_response_codes 408,429,503${e.user?`
  <auth>
    method basic
    username ${e.user}
    password "#{ENV['CORDWOOD_PASSWORD']}"
  </auth>`:""}
  <format>
    @type json
  </format>
  <buffer>
    @type file
    path /var/lib/fluentd/cordwood
    chunk_limit_size 2m
    flush_interval 1s
    flush_thread_count 4
    retry_forever true
    retry_max_interval 30s
  </buffer>
</match>`},{id:"logstash",name:"Logstash",file:"a file of pipeline.conf",note:"Set queue.type: persisted in logstash.yml, so that nothing is lost when Logstash stops.",text:e=>`output {
  http {
    url => "${Q(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
    http_method => "post"
    format => "json_batch"
    http_compression => true
    retry_failed => true
    retryable_codes => [408, 429, 500, 502, 503, 504]${e.user?`
    user => "${e.user}"
    password => "\${CORDWOOD_PASSWORD}"`:""}
  }
}`},{id:"syslog-ng",name:"syslog-ng",file:"syslog-ng.conf",text:e=>`source s_local { system(); internal(); };
destination d_cordwood {
  http(
    url("${V(e)}")${e.user?`
    user("${e.user}") password("\`CORDWOOD_PASSWORD\`")`:""}
    method("POST") headers("Content-Type: application/x-ndjson")
    body("$(format-json --scope rfc5424 --key ISODATE)") delimiter("\\n")
    batch-lines(1000) batch-timeout(1000) workers(2) persist-name("cordwood")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216))
    retries(1000000)
  );
};
log { source(s_local); destination(d_cordwood); flags(flow-control); };`},{id:"rsyslog",name:"rsyslog",file:"rsyslog.conf",note:"If the server has users, add --user NAME:PASSWORD to the command, and let only root read the file.",text:e=>`module(load="omprog")
template(name="ndjson" type="list" option.jsonf="on") {
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="program" name="programname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
action(type="omprog" template="ndjson" name="cordwood" output="/var/log/cordwood-ingest.log"
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${ee(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${P(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${z(e)}}
    sending_queue:
      storage: file_storage
      batch: {flush_timeout: 1s, min_size: 1000, max_size: 5000, sizer: items}
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions:
    - file_storage${e.user?`
    - basicauth`:""}
  pipelines:
    logs: {receivers: [filelog], exporters: [otlphttp]}`},{id:"alloy",name:"Grafana Alloy",file:"config.alloy",text:e=>`loki.write "cordwood" {
  endpoint {
    url                 = "${e.origin}/loki/api/v1/push"
    headers             = {${ce(e)}}
    max_backoff_retries = 0${e.user?`
    basic_auth {
      username = ${JSON.stringify(e.user)}
      password = sys.env("CORDWOOD_PASSWORD")
    }`:""}
  }
}
local.file_match "app" { path_targets = [{"__path__" = "/var/log/app/*.log", "app" = "shop"}] }
loki.source.file "app" {
  targets    = local.file_match.app.targets
  forward_to = [loki.write.cordwood.receiver]
}`},{id:"promtail",name:"Promtail",file:"promtail.yaml",note:"Start Promtail with -config.expand-env=true, so that it reads variables.",text:e=>`clients:
  - url: ${e.origin}/loki/api/v1/push
    backoff_config: {max_retries: 0}
    headers: {${z(e)}}${e.user?`
    basic_auth: {username: ${P(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:a,secure:o}=j(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${o?"https":"http"}://${t}:${a}/v1/elasticsearch"]${e.user?`
  username: ${P(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${z(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${ce(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===A?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${P(e.table)}
        splunk-format: json`},...Fe];function dt({stores:e}){let{adding:t,place:a,signIn:o}=e,s=a.here.value.params,r=te.find(p=>p.id===s.get("sender"))??te[0],[l,i,c]=[s.get("db")||"public",s.get("t")||"app",s.get("pipeline")||"svc_identity"];w(()=>{document.title="Add data \xB7 cordwood"},[]),w(()=>{let p=setTimeout(()=>{t.follow(l,i)},300);return()=>{clearTimeout(p),t.stop()}},[l,i]);let $=p=>a.set("add",{sender:r.id,t:i,db:l,pipeline:c,...p},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=pe({db:l,table:i,pipeline:c})||r.lacks?.({db:l,table:i,pipeline:c})||"",u=d?"":r.text({origin:location.origin,db:l,table:i,pipeline:c,user:o.user.value});return n`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${o.session.value?.can_write===!1&&n`<p class="wrong none" data-ui="may-not">Your user may not store rows: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${i} onInput=${p=>$({t:ze(p)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${p=>$({pipeline:ze(p)})} /></label>
<${pt} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${te.map(p=>n`<button class="text" aria-pressed=${p===r} data-ui=${`sender-${p.id}`} onClick=${()=>$({sender:p.id})}>${p.name}</button>`)}</nav>
${r.port&&!d&&n`<${ct} api=${e.api} flag=${r.port.flag} value=${r.port.text({origin:location.origin,db:l,table:i,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${r.name}><div class="head"><h2>${r.name}</h2><span class="quiet">${r.file}</span><span class="grow"></span>
${!d&&n`<button class="button" onClick=${()=>E(u)}>Copy</button>`}</div>
${d?n`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:n`<pre data-ui="snippet" tabindex="0">${u}</pre>`}
${r.note&&n`<p class="quiet none">${r.note}</p>`}
${o.user.value&&n`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${o.session.value?.auth==="token"?"a token that may store rows":`the password of ${o.user.value}`}.</p>`}</section>
<${ut} adding=${t} to=${{db:l,table:i,pipeline:c}} />
<${$t} stores=${e} db=${l} table=${i} />
<${ft} key=${`${l}.${i}`} stores=${e} db=${l} table=${i} />
</div>`}function ct({api:e,flag:t,value:a}){let[o,s]=v("");w(()=>{e.send({path:"/config"}).then(async i=>s(await i.text()),()=>{})},[]);let r=ue(o,t),l=`cordwood serve --${t} ${ye(a)}`;return n`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${r?`It listens at ${r}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>E(l)}>Copy</button></div><pre tabindex="0">${l}</pre></section>`}function ze(e){return e.currentTarget.value.trim()}function pt({api:e}){let[t,a]=v([]);return w(()=>{e.json({path:"/v1/pipelines"}).then(o=>a(o.pipelines.map(s=>s.name)),()=>{})},[]),n`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(o=>n`<option value=${o}></option>`)}</datalist>`}function ut({adding:e,to:t}){let[a,o]=v(!1),s=ge(null),r=i=>i?.[0]&&void e.send(i[0],t),l=e.sending.value;return n`<section class=${`drop ${a?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),o(!0)}}
onDragLeave=${()=>o(!1)}
onDrop=${i=>{i.preventDefault(),o(!1),r(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>s.current?.click()}>Choose a file</button>
<input ref=${s} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>{let c=i.currentTarget;r(c.files),c.value=""}} /></p>
${l&&n`<p role="status">${l.name}: ${y(l.sent)} of ${y(l.size)}, ${b(l.rows)} ${l.rows===1?"row":"rows"} stored${l.done?l.error?`. ${l.error}`:", done.":"\u2026"} ${!l.done&&n`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${l.size>0?l.sent/l.size*100:100}%`}}></div>
${l.refused>0&&n`<p class="wrong">${b(l.refused)} ${l.refused===1?"record was":"records were"} refused${l.refused>l.reasons.length&&", for example"}:</p>`}
${l.reasons.map(i=>n`<p class="wrong">${R(i)}</p>`)}`}
</section>`}function $t({stores:e,db:t,table:a}){let{adding:o,api:s,prefs:r}=e,l=M(),[i]=v(()=>U(F)),c=o.rows.value,$=c.length>0;if(w(()=>{$&&i.run(u=>s.json({path:"/v1/explore/fields",body:{db:t,tables:[a]},signal:u}))},[$,t,a]),!$)return n`<section class="first" aria-live="polite" data-ui="first-row"><${gt} table=${a} /></section>`;let d=i.value.value;return n`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${b(o.count.value)} ${o.count.value===1?"row":"rows"} arrived in ${a}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(u=>u.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${O("explore",{db:t,t:a},{db:"public"})}>Open in Explore</a></div>
<${X} count=${c.length} at=${u=>c[u]} shape=${We(d)} columns=${[]} marks=${null} zone=${r.zone.value}
density=${r.density.value} narrow=${l} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var ht=10,mt=3e3,bt=6e4;function ft({stores:e,db:t,table:a}){let[o]=v(()=>U(F));w(()=>{let r=Date.now()-bt,l=()=>document.visibilityState==="visible"&&void o.run(c=>e.rejects.newest({db:t,table:a,since:r},c));l();let i=setInterval(l,mt);return()=>{clearInterval(i),o.cancel()}},[t,a]);let s=o.value.value??[];return s.length===0?null:n`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${s.length===5?"Newest rejected records":`${b(s.length)} rejected ${s.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${O("rejects",{t:a})}>All rejects of ${a}</a></div>
<${H} stores=${e} rejects=${s} /></section>`}function gt({table:e}){let[t]=v(Date.now()),a=ke(1e3),o=Math.floor((a-t)/1e3);return n`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${o} s</p>
${o>=ht&&n`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var q=()=>"",K={name:"node",label:"Node",kind:"node"},ae={name:"shard",label:"Shard",kind:"shard"},Y=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[K,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:q,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[K],word:q,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[K],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[K],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:q,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[ae,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:q,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[ae,{name:"replicas",label:"Replicas",kind:"number"}],word:q,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[ae,K],word:q,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[ae],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:q,request:e=>({kind:"table-move",table:e.table,to_shards:vt(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:q,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function vt(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}function Be(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,a=>a.toUpperCase())}}function Ge({id:e,given:t,state:a,stores:o,onClose:s}){let{operations:r,health:l,tables:i}=o,c=Y.find(f=>f.id===e),[$,d]=v({count:"1",replicas:String(a.replication),partitions:"2",...t});B(()=>r.clear(),[]);let u=r.asks.value,p=r.start.value.value,m=u||c.word($);async function x(){if(r.start.since.value>0)return;let f=c.request($);await r.begin(u?{...f,confirm:u}:f)&&(_(r.start.value.value?.message||"The operation has started."),s(),await l.load())}let h=f=>g=>d({...$,[f]:g});return n`<${J} key=${u} title=${c.name.replace("\u2026","")} word=${m} action="Begin" busy=${r.start.since.value>0} onYes=${x} onClose=${s}>
<p>${c.says}</p>
${c.asks.map(f=>n`<label class=${f.kind==="check"?"check":""}>${f.kind!=="check"&&f.label}<${yt} asked=${f} value=${$[f.name]??""} state=${a} tables=${i.all.value} onValue=${h(f.name)} />${f.kind==="check"&&f.label}</label>`)}
<${wt} values=${$} state=${a} tables=${i.all.value} />
${u&&p?.message&&n`<p class="wrong" role="alert">${p.message}</p>`}
<${k} latest=${r.start} what="Beginning it" inForm /><//>`}function wt({values:e,state:t,tables:a}){let o=t.nodes.find(i=>i.name===(e.shard?"":e.node)),s=t.shards.find(i=>String(i.id)===e.shard),r=a.find(i=>`${i.db}.${i.name}`===e.table),l=s?`Shard ${s.id} has ${y(s.bytes)} on disk.`:o?`${o.name} has ${o.replicas} replicas with ${y(o.bytes)}, and leads ${o.leads} shards.`:r?`${e.table} has ${y(r.bytes)}.`:"";return l&&n`<p class="quiet">${l}</p>`}function yt({asked:e,value:t,state:a,tables:o,onValue:s}){let r=c=>s(c.currentTarget.value),l=`act-${e.name}`;if(e.kind==="check")return n`<input type="checkbox" data-ui=${l} checked=${t==="yes"} onChange=${()=>s(t==="yes"?"":"yes")} />`;if(e.kind==="number")return n`<input type="number" data-ui=${l} required min="1" max="64" value=${t} onInput=${r} />`;if(e.kind==="shards")return n`<input required data-ui=${l} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${r} />`;let i={node:()=>a.nodes.map(c=>c.name),shard:()=>a.shards.map(c=>String(c.id)),table:()=>o.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return n`<select required data-ui=${l} value=${t} onChange=${r}><option value="">Choose</option>${i.map(c=>n`<option value=${c}>${c}</option>`)}</select>`}function He({state:e,onClose:t}){let[a]=v(()=>new Set(e.nodes.map(l=>l.id))),o=e.nodes.filter(l=>!a.has(l.id)),r=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(l=>l.rpc_addr).join(",")}`].join(` \\
  `);return n`<${I} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${r}</pre>
<p role="status" data-ui="joined">${o.length===0?n`<span class="dot waiting"></span> Waiting for it to join…`:`${o.map(l=>l.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>E(r)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function Ve({stores:e,onClose:t}){let{operations:a,health:o}=e;B(()=>{a.clear(),a.loadPlan()},[]);let s=a.plan.value.value;async function r(l){a.start.since.value>0||await a.begin({kind:l})&&(_(a.start.value.value?.message||"Started."),await o.load(),t())}return n`<${I} title="Rebalance" onClose=${t}><div class="asks">
<${k} latest=${a.plan} what="Asking for the plan" />
${!s&&!a.plan.error.value&&n`<p class="quiet" role="status">Asking what would move…</p>`}
${s&&s.moves.length===0&&n`<p>Nothing would move: ${(s.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${s&&s.moves.length>0&&n`<p>${s.moves.length} replicas would move, ${y(s.moves.reduce((l,i)=>l+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${s.moves.map(l=>n`<tr><td>${l.shard}</td><td>${l.from}</td><td>${l.to}</td><td class="r">${y(l.bytes)}</td><td>${l.reason}</td></tr>`)}</tbody></table></div>`}
${s?.blocked.map(l=>n`<p class="wrong">${l}</p>`)}
<${k} latest=${a.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!s||s.moves.length===0} onClick=${()=>r("rebalance")}>Begin</button>
${s&&n`<button class="button" data-ui="pause" onClick=${()=>r(s.paused?"rebalance-resume":"rebalance-pause")}>${s.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function kt({stores:e}){let{health:t,signIn:a,operations:o}=e;w(()=>{document.title="Cluster \xB7 cordwood";let p=()=>{document.visibilityState==="visible"&&(t.load(),o.loadList())};o.loadList();let m=setInterval(p,2e3);return()=>clearInterval(m)},[t]);let[s,r]=v({id:"",given:{}}),l=t.value.value;if(!l)return n`<h1 class="hidden">Cluster</h1><${k} latest=${t} what="Asking for the state of the cluster" />`;let i=l.health==="ok",c=a.canManage.value,$=((p,m={})=>r({id:p,given:m})),d=()=>r({id:"",given:{}}),u=l.failure_tolerance;return n`<div class="scrolled">
<div class="state"><h1>${i?"The cluster is healthy":n`The cluster is <i>${l.health}</i>`}</h1>
<span class="quiet">${u>0?`It survives the loss of ${u} ${u===1?"node":"nodes"}.`:`It survives the loss of no node; ${l.limited_by} limits it.`}</span></div>
<${k} latest=${t} what="Asking for the state of the cluster" />
${l.problems.map(p=>n`<div class="problem"><p><b>${le(p.text)}</b> ${le(p.advice)}</p></div>`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${c&&n`<button class="text wide" data-ui="add-node" onClick=${()=>$("add-node")}>Add a node…</button><${Ke} group="nodes" first=${["add-node","Add a node\u2026"]} onDo=${$} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th>disk</th><th class="opt">version</th></tr></thead>
<tbody>${l.nodes.map(p=>n`<${xt} key=${p.id} node=${p} />`)}</tbody></table></div>
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${c&&n`<button class="text wide" data-ui="rebalance" onClick=${()=>$("rebalance")}>Rebalance…</button><${Ke} group="shards" first=${["rebalance","Rebalance\u2026"]} onDo=${$} />`}</h2>
<${Tt} state=${l} onDo=${c?$:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${Ot} operations=${o.list.value.value??l.operations} stores=${e} may=${c} /></section>
</div></div>
${s.id==="add-node"&&n`<${He} state=${l} onClose=${d} />`}
${s.id==="rebalance"&&n`<${Ve} stores=${e} onClose=${d} />`}
${Y.some(p=>p.id===s.id)&&n`<${Ge} id=${s.id} given=${s.given} state=${l} stores=${e} onClose=${d} />`}`}function xt({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0;return n`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${e.silent_seconds>10&&` silent for ${Math.round(e.silent_seconds)} s`}</td>
<td>${e.roles.join(", ")}</td><td>${e.meta}</td><td class="r">${b(e.replicas)}</td><td class="r">${b(e.leads)}</td>
<td><span class=${`disk ${t>85?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>${y(e.disk_used)} of ${y(e.disk_capacity)}</td>
<td class="opt">${e.version}</td></tr>`}function Ke({group:e,first:t,onDo:a}){return n`<${G} button=${n`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${o=>[{id:t[0],name:t[1]},...Y.filter(s=>s.group===e)].map(({id:s,name:r},l)=>n`<button class=${`choice ${l===0?"narrow-only":""}`} data-ui=${`do-${s}`} onClick=${()=>{o(),a(s)}}>${r}</button>`)}<//>`}function Tt({state:e,onDo:t}){let a=e.nodes.filter(o=>o.roles.includes("shard"));return n`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${a.map(o=>n`<th>${o.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(o=>n`<tr key=${o.id}><td>shard ${o.id}</td>${a.map(s=>{let[r,l,i]=St(o,s),c=`shard ${o.id} on ${s.name}: ${l}`;return n`<td class=${i} data-ui="shard-cell" title=${c}>${t&&r!=="\xB7"?n`<${Ct} letter=${r} says=${c} shard=${String(o.id)} node=${s.name} onDo=${t} />`:r}</td>`})}<td class="r opt">${b(o.lag)}</td><td class="r">${y(o.bytes)}</td><td><span class=${o.state==="ok"?"":"bad"}>${o.state}</span></td></tr>`)}</tbody></table></div>`}function Ct({letter:e,says:t,shard:a,node:o,onDo:s}){return n`<${G} button=${n`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${r=>{let l=(i,c)=>{r(),s(i,c)};return n`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>l("shard-move",{shard:a,from:o})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>l("rebuild",{shard:a,node:o})}>Rebuild…</button>`}}<//>`}function St(e,{name:t,state:a}){return(e.replicas.includes(t)||e.learners.includes(t))&&(a==="down"||a==="lost")?["!","has a replica, and does not answer","x"]:e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function Ot({operations:e,stores:t,may:a}){let{cancelling:o}=t.operations;return e.length===0?n`<p class="quiet none">No operation is running or stored.</p>`:n`<${k} latest=${o} what="Cancelling" /><ul class="ops">${e.map(s=>{let r=s.state==="running",l=s.total_bytes>0?s.done_bytes/s.total_bytes*100:0,i=[r?s.step:`${s.state} ${Rt(s.ended??s.updated)}`,r&&s.total_bytes>0&&`${y(s.done_bytes)} of ${y(s.total_bytes)}`,r&&s.eta_seconds&&`${L(s.eta_seconds*1e3)} left`,s.reason,s.requested_by&&`requested by ${s.requested_by}`].filter(Boolean);return n`<li data-ui="operation" data-state=${s.state} key=${s.id}><h3>${Be(s)}${r&&a&&(s.cancel?n`<span class="text">being cancelled</span>`:n`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(s.id).then(()=>t.health.load())}>Cancel</button>`)}</h3>
${r&&s.total_bytes>0&&n`<div class="bar" style=${{"--p":`${l}%`}}></div>`}<p>${i.join(" \xB7 ")}</p></li>`})}</ul>`}function Rt(e){return`${L(Math.max(0,Date.now()-Date.parse(e)))} ago`}function _t({stores:e}){let{rejects:t,place:a,prefs:o,signIn:s}=e,r=a.here.value.params,l={pipeline:r.get("pipeline")??"",table:r.get("t")??"",kind:r.get("kind")??"",from:r.get("from")??"",to:r.get("to")??""},i=JSON.stringify(l),[c,$]=v(!1),[d,u]=v(-1);w(()=>{document.title="Rejects \xB7 cordwood",u(-1),t.load(l)},[i]);let p=g=>a.set("rejects",{pipeline:l.pipeline,t:l.table,kind:l.kind,from:l.from,to:l.to,...g}),m=t.reasons.value.value,x=t.samples.value.value??[],h=m?.total??0,f=[["pipeline",l.pipeline,{pipeline:""}],["table",l.table,{t:""}],["kind",l.kind,{kind:""}],["time",Et(l,o.zone.value),{from:"",to:""}]];return n`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${m?.there&&`${b(h)} ${h===1?"record":"records"} that could not be stored${Dt(e)}`}</span><span class="grow"></span>
${f.map(([g,C,rt])=>C&&n`<button class="button" aria-label=${`Remove the condition ${g} ${C}`} onClick=${()=>p(rt)}>${g} ${C} ✕</button>`)}
${l.pipeline&&n`<a class="button" href=${O("pipelines",{name:l.pipeline})}>Fix in pipeline</a>`}
${h>0&&s.canManage.value&&n`<button class="button main" data-ui="replay" onClick=${()=>$(!0)}>Replay…</button>`}</div>
<${W} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
<${k} latest=${t.reasons} what="Counting the rejects" />
${m&&h===0&&n`<${Nt} there=${m.there} />`}
${h>0&&n`<${At} rejects=${t} zone=${o.zone.value} onZoom=${(g,C)=>p({from:g,to:C})} />
<h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${o.zone.value}</th></tr></thead>
<tbody>${m?.list.map((g,C)=>n`<tr data-ui="reason"><td class="r">${b(g.count)}</td><td class="samples" title=${g.reason}><button class="text" data-ui="reason-open" aria-expanded=${C===d} onClick=${()=>u(C===d?-1:C)}>${R(g.reason.slice(0,300))}</button></td>
<td><button class="text" onClick=${()=>p({kind:g.kind})}>${g.kind}</button></td><td><button class="text" onClick=${()=>p({pipeline:g.pipeline})}>${g.pipeline}</button></td>
<td><button class="text" onClick=${()=>p({t:g.table})}>${g.table}</button></td><td class="opt">${S(g.last,o.zone.value)}</td></tr>
${C===d&&n`<tr class="opened"><td></td><td colspan="5"><${H} stores=${e} rejects=${[g.newest]} /></td></tr>`}`)}</tbody></table></div>
<h2 class="head">The newest<span class="quiet">${b(x.length)}</span><span class="grow"></span>
<a class="text go" href=${O("explore",{db:"svc_private",t:"rejects",q:l.pipeline?`pipeline=${l.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
<${H} stores=${e} rejects=${x} />`}
${c&&n`<${Pt} stores=${e} wanted=${l} count=${h} onClose=${()=>$(!1)} />`}</div>`}function Et({from:e,to:t},a){return[e&&`from ${S(e,a)}`,t&&`to ${S(t,a)}`].filter(Boolean).join(" ")}function Dt({tables:e}){let t=e.all.value.find(a=>a.db==="svc_private"&&a.name==="rejects")?.ttl??"";return t&&`; they are kept for ${t.replace(/(\d)([a-z])/gi,"$1 $2")}`}function At({rejects:e,zone:t,onZoom:a}){let o=e.overTime.value.value;return o?n`<p class="legend overtime">${o.series.map((s,r)=>n`<span><i style=${{background:Ee(s.value,r,!1)}}></i>${s.value}<b>${b(s.counts.reduce((l,i)=>l+i,0))}</b></span>`)}</p>
<${De} hits=${o} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${a} />`:n`<${k} latest=${e.overTime} what="Counting over time" />`}function Nt({there:e}){return e?n`<${N} title="No record was rejected."><p>With these conditions, as long as rejects are kept.</p><//>`:n`<${N} title="The server keeps no rejected records.">
<p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
<p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function Pt({stores:e,wanted:t,count:a,onClose:o}){let{rejects:s}=e,[r,l]=v({toPipeline:"",toTable:""}),i=s.replay.value,c=i!==null&&!i.end;B(()=>(s.replay.value=null,()=>s.cancel()),[]);let $=i?.end&&i.dry&&!i.error,d=(u,p,m)=>n`<label>${p}<input value=${r[u]} placeholder=${m} onInput=${x=>l({...r,[u]:x.currentTarget.value.trim()})} /></label>`;return n`<${I} title=${`Replay ${b(a)} rejects`} onClose=${o}><div class="asks">
<p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
${d("toPipeline","Pipeline","the one that they were sent to")}${d("toTable","Table","the one that they were sent to")}
${i&&n`<p role="status" class=${i.failed>0?"wrong":""}>${i.error&&i.done===0?"":i.dry?`${b(i.stored)} of ${b(i.of||i.done)} would be stored.`:`${b(i.stored)} stored, ${b(i.failed)} failed again, of ${b(i.of||i.done)}.`} ${i.error}</p>
<div class="bar" style=${{"--p":`${i.of>0?i.done/i.of*100:0}%`}}></div>
${(i.reasons??[]).slice(0,5).map(u=>n`<p class="wrong">${typeof u=="string"?u:`${b(u.count)} \xD7 ${u.reason}`}</p>`)}`}
<p class="acts"><button class=${`button ${$?"":"main"}`} data-ui="replay-try" disabled=${c} onClick=${()=>{s.send({...t,...r},!0)}}>Try it first</button>
<button class=${`button ${$?"main":""}`} data-ui="replay-now" disabled=${c} onClick=${()=>{s.send({...t,...r},!1).then(()=>s.load(t))}}>Replay</button>
${c&&n`<button class="button" data-ui="cancel" onClick=${s.cancel}>Stop</button>`}
<button class="button" onClick=${o}>Close</button></p></div><//>`}var se=(e,t)=>t.map(a=>[a,`${a}, ${e}`]),Ye=[...se("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...se("on pipelines",["USE","READ","WRITE"]),...se("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...se("on any of these",["ALL"])],Ze=["30d","90d","365d","NEVER"],Je={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:a})=>`CREATE USER ${T(t)} PASSWORD ${D(a)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${T(e)} PASSWORD ${D(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:a})=>`ALTER USER CURRENT_USER PASSWORD ${D(a)} OLD ${D(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${T(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${T(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${T(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${T(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${T(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${T(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${T(t)} TO ${T(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>me(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:a,on:o,expires:s,note:r})=>`CREATE TOKEN ${T(t)} FOR ${a==="query"?"QUERY ON":"INGEST INTO"} ${o} EXPIRES ${s==="NEVER"?"NEVER":`IN ${D(s)}`}${r?` NOTE ${D(r)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${T(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${T(e)}`,typed:!0}},Xe="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function me(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function Qe(e,t){let a={...t};for(let[o,,s]of e.asks)s==="password"&&(a[o]="\u2026");return a}function ne({name:e,says:t,asks:a,choices:o,patterns:s={},initial:r={},word:l="",statement:i,latest:c,onRun:$,onClose:d,children:u}){let[p,m]=v(()=>({...Object.fromEntries(a.map(([f,,g])=>[f,g==="column"?"":[o[g]?.[0]??""].flat()[0]])),...r})),x=e.replace("\u2026","");return n`<${J} title=${x} word=${l} action=${l?x:"Run it"} busy=${c.since.value>0} onYes=${()=>c.since.value>0||$(p)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${u}
${a.map(([h,f,g])=>n`<label>${f}<${jt} name=${h} kind=${g} choices=${o[g]} pattern=${s[g]} value=${p[h]} onValue=${C=>m({...p,[h]:C})} /></label>`)}
<pre class="asked">${i(p)}</pre>
<${k} latest=${c} what="The statement" inForm /><//>`}function jt({name:e,kind:t,choices:a,pattern:o,value:s,onValue:r}){let l=i=>r(i.currentTarget.value);if(!a){let[i,c]=t==="password"?["password","new-password"]:["text","off"];return n`<input required=${t!=="text?"} type=${i} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${o} value=${s} onInput=${l} />`}return n`<select required data-ui=${`ask-${e}`} value=${s} onChange=${l}>${t==="column"&&n`<option value="">Choose</option>`}${a.map(i=>[i].flat()).map(([i,c=i])=>n`<option value=${i}>${c}</option>`)}</select>`}function et({stores:e}){let{access:t}=e,[a,o]=v(null),[s,r]=v(""),[l,i]=v(""),[c,$]=v(null);w(()=>{d()},[s]),w(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(s),t.loadTokens(s)])}function u(f){i(f),t.grants.value.value=null,t.loadGrants(f)}async function p(f,g){let C=await t.change(f);C&&(o(null),C[0]?.Token?$(C[0]):_(`Done: ${g}`),await Promise.all([d(),t.loadRoles(),l&&t.loadGrants(l)]))}let m=(f,g="")=>o({id:f,target:g}),x=e.signIn.session.value?.auth==="token",h=t.users.error.value?.status!==403;return n`<section aria-label="Users and tokens"><h2 class="head">${h?"Users and tokens":"My tokens"}<span class="grow"></span>
${!x&&n`<button class="text" data-ui="own-password" onClick=${()=>m("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${s} onInput=${f=>r(f.currentTarget.value)} /></h2>
${h&&n`<${qt} access=${t} onAct=${m} onGrants=${u} grantsOf=${l} />`}
${h&&n`<${Lt} access=${t} onAct=${m} onGrants=${u} grantsOf=${l} />`}
${l&&n`<${It} of=${l} access=${t} onAct=${m} />`}
<${Wt} access=${t} onAct=${m} />
${a&&n`<${Mt} key=${`${a.id} ${a.target}`} id=${a.id} target=${a.target} access=${t} onRun=${p} onClose=${()=>o(null)} />`}
${c&&n`<${Ut} of=${c} onClose=${()=>$(null)} />`}</section>`}function qt({access:e,onAct:t,onGrants:a,grantsOf:o}){let s=e.users.value.value??[];return n`<${oe} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${s.length>0&&n`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><th></th></tr></thead>
<tbody>${s.map(r=>{let l=!r.State.startsWith("disabled");return n`<tr key=${r.User} data-ui="user" data-name=${r.User}><td><b>${r.User}</b></td><td>${r.Roles}</td><td>${r.State}</td><td>${be(r["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${o===r.User} onClick=${()=>a(r.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",r.User)}>Password…</button>
<button class="text" onClick=${()=>t(l?"disable":"enable",r.User)}>${l?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",r.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function Lt({access:e,onAct:t,onGrants:a,grantsOf:o}){let s=e.roles.value.value??[];return n`<${oe} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${s.length>0&&n`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th></th></tr></thead>
<tbody>${s.map(r=>{let l=r.State==="built in";return n`<tr key=${r.Role} data-ui="role" data-name=${r.Role}><td><b>${r.Role}</b></td><td>${r.Roles}</td><td>${r.State}</td>
<td class="r"><button class="text" aria-expanded=${o===r.Role} onClick=${()=>a(r.Role)}>Grants</button>
${!l&&n`<button class="text" onClick=${()=>t("dropRole",r.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function It({of:e,access:t,onAct:a}){let o=t.grants.value.value;return n`<${oe} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>a("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>a("grantRole",e)}>Grant a role…</button><//>
${o&&n`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${o.map(s=>n`<tr key=${s} data-ui="granted"><td class="mono">${s}</td><td class="r">${me(s)&&n`<button class="text" onClick=${()=>a("revoke",s)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${o?.length===0&&n`<p class="quiet none">${e} has no grants.</p>`}`}function Wt({access:e,onAct:t}){let a=e.tokens.value.value??[];return n`<${oe} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${a.length>0&&n`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><th></th></tr></thead>
<tbody>${a.map(o=>n`<tr key=${o.Id} data-ui="token" data-name=${o.Token}><td><b>${o.Token}</b><small>cw_${o.Id}</small></td><td class="mono">${o.Scope}</td><td>${o.State}</td>
<td>${be(o.Expires)||"never"}</td><td title=${o["Last address"]}>${be(o["Last used"])}</td><td>${o.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",o.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",o.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function oe({title:e,latest:t,children:a}){let o=t.value.value?.length??0;return n`<h3 class="head">${e}<span class="quiet">${o>=ie&&`the first ${ie}`}</span><span class="grow"></span>${a}</h3>
<${k} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function Mt({id:e,target:t,access:a,onRun:o,onClose:s}){let r=Je[e],l=(a.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),i=c=>r.statement(t,Qe(r,c));return n`<${ne} name=${r.name} says=${r.says} asks=${r.asks} word=${r.typed?t:""}
choices=${{privileges:Ye,role:l,scope:["ingest","query"],lifetime:Ze}} patterns=${{target:Xe}} initial=${{expires:"90d"}}
statement=${i} latest=${a.action} onRun=${c=>o(r.statement(t,c),i(c))} onClose=${s} />`}function Ut({of:e,onClose:t}){return n`<${I} title=${`Token ${e.Name}`} onClose=${t}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
<p class="acts"><button class="button main" onClick=${()=>E(e.Token)}>Copy</button><button class="button" data-ui="secret-done" onClick=${t}>Done</button></p><//>`}var be=e=>e.slice(0,16).replace("T"," ");function Ft({stores:e}){let{prefs:t,signIn:a}=e;w(()=>{document.title="Settings \xB7 cordwood"},[]);let o=a.session.value;return n`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${re} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${re} label="Times" value=${t.zone} choices=${Gt()} ui="zone" />
<${re} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${re} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${s=>t.table.value=s.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(s=>s.db==="public").map(s=>n`<option value=${s.name}>${s.name}</option>`)}</select></label>
<${zt} stores=${e} />
<div class="setting"><span>Searches</span><span>${b(t.history.value.length)} kept ${t.history.value.length>0&&n`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${o?.auth==="off"?"This server has no users: everybody may do everything.":n`<b>${o?.user??""}</b>${o?.auth==="token"&&", by a token"}`}</span></div>
${o&&o.auth!=="off"&&n`<div class="setting"><span>May</span><span>${Bt(o).join(", ")||"nothing"}</span></div>`}
${a.user.value&&n`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>a.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${o&&o.auth!=="off"&&n`<${et} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${o?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${o?.server?.version}</span></div>
<${Ht} api=${e.api} />
</section></div>`}function zt({stores:e}){let{prefs:t,tables:a,api:o}=e,s=a.all.value.filter(d=>d.db==="public"),[r,l]=v(t.table.value),[i]=v(()=>U(F)),c=Ne(t,"public",[r]),$=s.some(d=>d.name===r);return w(()=>{if(!$)return;let d={db:"public",tables:[r],...Pe(c)};i.run(u=>o.json({path:"/v1/explore/fields",body:d,signal:u}))},[r,$,c.message,c.level]),n`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${$?r:""} onChange=${d=>l(d.currentTarget.value)}>
<option value="">a table</option>${s.map(d=>n`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${k} latest=${i} what="Asking for the columns" />
${$&&i.value.value&&n`<${je} fields=${i.value.value.fields} roles=${c} onRole=${(d,u)=>t.roles.set(Ae("public",[r]),{...c,[d]:u})} />`}`}function Bt(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function Gt(){return Object.fromEntries([...new Set([Ce,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function re({label:e,value:t,choices:a,ui:o}){return n`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${o}><span>${e}</span><span class="choices-in-line">${Object.entries(a).map(([s,r])=>n`<label><input type="radio" name=${e} value=${s} checked=${t.value===s} onChange=${()=>t.value=s} />${r}</label>`)}</span></div>`}function Ht({api:e}){let[t]=v(()=>U(F));return w(()=>{t.run(async a=>(await e.send({path:"/config",signal:a})).text())},[]),n`<div class="setting"><span>Started with</span><${k} latest=${t} what="Asking for the settings" />${t.value.value&&n`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var Vt=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],Kt=["INVERTED","SKIPPING","FULLTEXT"],fe=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${D(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:a})=>`ALTER TABLE ${e} ADD COLUMN ${T(t)} ${a}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:a})=>`ALTER TABLE ${e} MODIFY COLUMN ${T(t)} SET ${a} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${T(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function tt({id:e,db:t,name:a,info:o,fields:s,stores:r,onClose:l}){let{table:i,tables:c,place:$}=r,d=fe.find(p=>p.id===e);async function u(p){let m=d.statement(T(a),p);await i.change(t,m)&&(_(`Done: ${m}`),l(),await c.load(),d.gone?$.set("tables",e==="rename"?{db:t,t:p.to}:{db:t},{db:"public"}):await i.load(t,a))}return n`<${ne} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?a:""}
choices=${{type:Vt,index:Kt,column:s.map(p=>p.name)}} initial=${{ttl:o?.ttl??"",to:a}}
statement=${p=>d.statement(T(a),p)} latest=${i.action} onRun=${u} onClose=${l}>
${d.typed&&o&&n`<p><b>${t}.${a}</b> ${o.sized?`has ${b(o.rows)} ${o.rows===1?"row":"rows"}, ${y(o.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function at({db:e,name:t,info:a,stores:o,onClose:s}){let{table:r,prefs:l,signIn:i}=o,[c,$]=v("");w(()=>{r.latest.value.value=null,r.load(e,t)},[e,t]);let d=r.latest.value.value,u=l.zone.value,p=e==="svc_private"||e==="information_schema";return n`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!p&&i.canManage.value&&n`<${G} button=${n`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${m=>fe.map(({id:x,name:h})=>n`<button class="choice" data-ui=${`do-${x}`} onClick=${()=>{m(),$(x)}}>${h}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${s}>✕</button></div>
<${W} since=${r.latest.since.value} onCancel=${r.latest.cancel} />
<div class="scrolled">
${a&&n`<${Zt} info=${a} lastRow=${d?.fields?d.lastRow??"none":""} zone=${u} />`}
<p class="acts"><a class="text go" href=${O("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${O("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${O("sql",{db:e,q:`SELECT * FROM ${T(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${k} latest=${r.latest} what="Asking for the table" />
${d&&n`${d.refused.map(m=>n`<p class="quiet none" data-ui="refused">Something is not shown: ${m.message}.</p>`)}
${d.fields&&n`<${Jt} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&n`<${Xt} segments=${d.segments} zone=${u} />`}
${d.ddl!==null&&n`<${Yt} ddl=${d.ddl} />`}`}
</div>
${c&&n`<${tt} id=${c} db=${e} name=${t} info=${a} fields=${d?.fields??[]} stores=${o} onClose=${()=>$("")} />`}
</section>`}function Yt({ddl:e}){return n`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>E(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${Ie(e).map(t=>t.keyword?n`<b>${t.text}</b>`:t.text)}</pre>`}function Zt({info:e,lastRow:t,zone:a}){let o=[["rows",e.sized&&b(e.rows)],["bytes",e.sized&&`${y(e.bytes)}${e.rows>0?`, ${y(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${S(t,a)}, ${L(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return n`<dl>${o.map(([s,r])=>r&&n`<div><dt>${s}</dt><dd>${r}</dd></div>`)}</dl>`}function Jt({fields:e,rows:t}){return n`<h3 class="head">Columns<span class="quiet">${b(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(a=>{let o=[...new Set(t.map(s=>we(s.v[a.name])).filter(Boolean))];return n`<tr><td>${a.name}${a.role&&n`<small>${a.role}</small>`}</td><td>${a.type}</td><td>${a.index??""}</td>
<td class="r">${Math.round(a.fill*100)} %</td><td class="samples" title=${o.join(", ").slice(0,500)}>${R(o.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Xt({segments:e,zone:t}){if(e.length===0)return n`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let a=Math.min(...e.map(i=>Date.parse(i.from))),o=Math.max(...e.map(i=>Date.parse(i.to))),s=Math.max(...e.map(i=>i.rows)),r=i=>o>a?(Date.parse(i)-a)/(o-a)*100:0,l=e.reduce((i,c)=>i+c.bytes,0);return n`<h3 class="head">Segments<span class="quiet">${b(e.length)}, ${y(l)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${S(e[e.length-1].from,t)} to ${S(e[0].to,t)}`}>${e.map(i=>n`<i key=${i.file} title=${`${b(i.rows)} rows, ${y(i.bytes)}, ${S(i.from,t)} \u2013 ${S(i.to,t)}`}
style=${{left:`${r(i.from)}%`,width:`max(2px, ${r(i.to)-r(i.from)}%)`,height:`${Math.max(4,i.rows/s*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${S(new Date(a).toISOString(),t)}</span><span>${S(new Date(o).toISOString(),t)}</span></p>`}var st=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function Qt({stores:e}){let{tables:t,place:a}=e,o=a.here.value.params,[s,r]=[o.get("db")??"public",o.get("t")??""],[l,i]=v(""),[c,$]=v({by:"name",down:!1});w(()=>{t.load()},[t]),w(()=>{document.title=r?`${s}.${r} \xB7 cordwood`:"Tables \xB7 cordwood"},[s,r]),w(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(h,f){a.set("tables",{db:h,t:f},{db:"public"})}let u=t.all.value,p=ve(()=>ta(u,l,c),[u,l,c]),m=r?u.find(h=>h.db===s&&h.name===r):void 0,x=t.latest.value.value!==null;return n`<h1 class="hidden">Tables</h1>
<${W} since=${x?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${r?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${l}
onInput=${h=>i(h.currentTarget.value)} />
<span class="quiet">${x&&ea(u,p)}</span></div>
<${k} latest=${t.latest} what="Asking for the tables" />
${x&&u.length===0&&n`<${N} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
<p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
${u.length>0&&n`<${aa} shown=${p} sort=${c} onSort=${$} selected=${m} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${r&&(m||!x?n`<${at} key=${`${s}.${r}`} db=${s} name=${r} info=${m} stores=${e} onClose=${()=>d("","")} />`:n`<section class="pane detail" aria-label="Table"><${N} title=${`There is no table ${s}.${r}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function ea(e,t){let a=t.reduce((s,r)=>s+r.bytes,0);return`${e.length===t.length?`${b(e.length)} ${e.length===1?"table":"tables"}`:`${b(t.length)} of ${b(e.length)} tables`}, ${y(a)}`}function ta(e,t,a){let o=t.trim().toLowerCase(),s=st.find(([i])=>i===a.by)?.[2]??(i=>`${i.db}.${i.name}`),r=new Intl.Collator("en",{numeric:!0}),l=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(o));return l.sort((i,c)=>{let[$,d]=[s(i),s(c)];return typeof $=="number"&&typeof d=="number"?$-d:r.compare(String($),String(d))}),a.down?l.reverse():l}function aa({shown:e,sort:t,onSort:a,selected:o,onOpen:s,lastRows:r}){let l=M();w(()=>r.stop,[r]);let i=st.map(([$,d,u,p])=>{if(!u)return n`<span class=${p}>${d}</span>`;let m=t.by===$;return n`<button class=${p} aria-pressed=${m} title=${`Sort by ${d}`}
onClick=${()=>a({by:$,down:m?!t.down:p.startsWith("r")})}>${d}${m&&(t.down?" \u2193":" \u2191")}</button>`});function c($){let d=e[$],u=d===o;return n`<div class=${`row tablerow ${u?"on":""}`} role="row" aria-rowindex=${$+1} aria-selected=${u} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>s(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&b(d.rows)}</span><span class="r" role="gridcell">${d.sized&&y(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${r.of(d)}>${sa(r.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?y(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return n`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${Re} count=${e.length} height=${l?44:28} label=${`${e.length} tables`} row=${c}
onSee=${($,d)=>{r.see(l?[]:e.slice($,d))}}
focus=${o?e.indexOf(o):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function sa(e){return e===void 0?"":e?`${L(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function na({stores:e}){let{tail:t,prefs:a,tables:o}=e,s=t.state.value,r=M(),[l,i]=v(null);w(()=>{t.clear(),i(null),s.table&&(a.table.value=s.table),t.follow(),document.title=`tail ${s.table} \xB7 cordwood`},[s.db,s.table,s.q]),oa(t);let c=t.ignored.value.join(", ");w(()=>{c&&_(`The page does not know this part of the address, and ignores it: ${c}`)},[c]),w(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>nt(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function $(h){if(i(h),!h.cut)return;let f=await t.wholeRow(h).catch(()=>null);f&&i(g=>g?.id===h.id?f:g)}let{count:d,dropped:u,still:p}=t.drawn.value,m=t.held.value,x=a.zone.value;return n`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${h=>{h.preventDefault(),t.set({q:t.draft.value})}}
>
<${qe}
db=${s.db}
tables=${s.table?[s.table]:[]}
all=${o.all.value}
single
onPick=${(h,f)=>t.set({db:h,t:f[f.length-1]})}
/>
<${Le}
text=${t.draft.value}
onText=${h=>t.draft.value=h}
onRun=${()=>t.set({q:t.draft.value})}
fault=${t.draft.value===s.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${a.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!m?"":"bad"}`}></span>${m?`Held at ${Se(m.at,x).time}`:t.live.value?`Live \xB7 ${b(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${m!==null}
onClick=${()=>m?t.release():t.hold()}
>
${m?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${s.wrap}
data-ui="wrap"
onClick=${()=>nt(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${h=>t.most.value=Number(h.currentTarget.value)}
>
${Me.map(h=>n`<option value=${h}>${b(h)}</option>`)}
</select></label
>
<span class="grow"></span>
${m&&n`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${b(t.fresh())} new rows</button>`}
${u>0&&n`<span class="quiet" data-ui="tail-dropped">${b(u)} older rows are in the table only</span>`}
${p&&n`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${ot(t)}
>Explore this</a
>
</div>
${t.ended.value&&n`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${ot(t)}>Show them in Explore</a></div>`}
${!t.isMissing()&&n`<${k} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${l?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows">
${d===0?n`<${N}
title=${t.isMissing()?`There is no table ${s.table} yet.`:s.table?`Waiting for new rows in ${s.table}.`:"Choose a table to follow."}
>
${t.isMissing()&&n`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${s.table&&!t.isMissing()&&n`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:n`<${X}
count=${d}
at=${t.at}
shape=${t.shape.value}
columns=${Oe(r,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${x}
density=${a.density.value}
narrow=${r}
label=${`${d} rows, newest last`}
selected=${l?.id??""}
dropped=${u}
follow=${!m}
wrap=${s.wrap}
onEnd=${h=>!h&&t.hold()}
onOpen=${h=>{t.hold(),h.id===l?.id?i(null):$(h)}}
/>`}
</section>
${l&&n`<${_e}
row=${l}
shape=${t.shape.value}
zone=${x}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${h=>t.set({q:xe(s.q,h)})}
onWithout=${h=>t.set({q:Te(s.q,h)})}
onClose=${()=>i(null)}
/>`}
</div>`}function nt(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function ot(e){let{db:t,table:a,q:o}=e.state.value;return O("explore",{db:t,t:a,q:o,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function oa(e){w(()=>{let t,a=0,o=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{a=Date.now(),e.stop()},3e4);else if(a){let r=`${Math.ceil((Date.now()-a)/1e3)+30}s`;a=0,e.follow(r)}},s=()=>{let r=getSelection();r&&!r.isCollapsed&&r.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",o),document.addEventListener("selectionchange",s),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",o),document.removeEventListener("selectionchange",s),e.stop()}},[e])}export{dt as AddPage,kt as ClusterPage,_t as RejectsPage,Ft as SettingsPage,Qt as TablesPage,na as TailPage};
