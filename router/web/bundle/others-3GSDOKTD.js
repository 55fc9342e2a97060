import{$ as Ie,A as ye,B as ke,C as xe,D as C,E as Te,F as M,H as Ce,I as Z,J as Se,L as Re,M as Oe,N as _e,O as Ee,P as De,Q as Ae,R as Ne,T as Pe,U as je,V as x,W as _,X as Le,Y as U,Z as W,_ as oe,a as g,b as v,c as z,d as he,e as be,f as n,g as f,h as w,i as j,j as L,l as fe,m as K,n as ge,o as R,p as I,q as Y,r as B,s as S,u as O,v as k,w as ve,x as q,y as D,z as we}from"./chunk-DEZFY6KS.js";function J({stores:e,rejects:t}){return n`<ul class="rejectlist">${t.map(a=>n`<li data-ui="reject"><p class="mono">${L(a.record.slice(0,500))}</p><p class="why">${L(a.error.slice(0,500))}</p>
<p class="quiet">${C(a.at,e.prefs.zone.value)} · ${a.pipeline} → ${a.table} · ${a.format} ·${" "}
<button class="text go" onClick=${()=>nt(e,a)}>Fix in pipeline</button></p></li>`)}</ul>`}async function nt({pipelines:e,place:t},a){await e.open(a.pipeline,""),e.setSamples([a.record,...e.samples.value.filter(o=>o!==a.record)]),t.set("pipelines",{name:a.pipeline,t:a.table})}function G(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function X(e,t){return G(e)+(e.pipeline===E?`&custom_time_index=${t}`:"")}var E="svc_identity";function Q(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===E?"":` --pipeline ${e.pipeline}`}`}function re(e){return e.user?`export CORDWOOD_USER=${K(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function qe(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==E&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function F(e){return qe(e).map(([t,a])=>`${t}: ${A(a)}`).join(", ")}function le(e){return qe(e).map(([t,a])=>`"${t}" = "${a}"`).join(", ")}function A(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var ot={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function ie({db:e,table:t,pipeline:a}){for(let[o,s]of[["database",e],["table",t],["pipeline",a]])if(!ot[o].test(s))return`\u201C${s}\u201D cannot be the name of a ${o}. Use letters, digits, and the characters _ . : -`;return""}function N(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function de(e,t){let a=e.split(`
`).find(o=>o.startsWith(`${t} = "`));return a?a.slice(t.length+4,a.lastIndexOf('"')):""}function ce(e,t,a){let{host:o,port:s,secure:r}=N(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${o}
      port: ${s}${r?`
      tls: on`:""}
      uri: ${X(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===E?"iso8601":a}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${A(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function pe(...e){return t=>{let a=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==E&&`pipeline=${t.pipeline}`];return e.map(o=>`${o}?${a.filter(Boolean).join("&")}`).join(",")}}var Me=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:pe("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${N(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:pe("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${N(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:pe("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${N(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${N(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${F(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var ee=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${G(e)}' \\
     ${e.user?`-u ${K(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${re(e)}cordwood ingest --server ${e.origin} ${Q(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${re(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${Q(e)}${e.pipeline===E?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${G(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${A(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>ce(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>ce(e,`  inputs:
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
  endpoint ${X(e,"time;epoch;ms")}
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
    url => "${X(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
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
    url("${G(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${Q(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${A(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${F(e)}}
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
    headers             = {${le(e)}}
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
    headers: {${F(e)}}${e.user?`
    basic_auth: {username: ${A(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:a,secure:o}=N(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${o?"https":"http"}://${t}:${a}/v1/elasticsearch"]${e.user?`
  username: ${A(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${F(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${le(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===E?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${A(e.table)}
        splunk-format: json`},...Me];function rt({stores:e}){let{adding:t,place:a,signIn:o}=e,s=a.here.value.params,r=ee.find($=>$.id===s.get("sender"))??ee[0],[l,i,c]=[s.get("db")||"public",s.get("t")||"app",s.get("pipeline")||"svc_identity"];v(()=>{document.title="Add data \xB7 cordwood"},[]),v(()=>{let $=setTimeout(()=>{t.follow(l,i)},300);return()=>{clearTimeout($),t.stop()}},[l,i]);let m=$=>a.set("add",{sender:r.id,t:i,db:l,pipeline:c,...$},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=ie({db:l,table:i,pipeline:c})||r.lacks?.({db:l,table:i,pipeline:c})||"",u=d?"":r.text({origin:location.origin,db:l,table:i,pipeline:c,user:o.user.value});return n`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${i} onInput=${$=>m({t:Ue($)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${$=>m({pipeline:Ue($)})} /></label>
<${it} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${ee.map($=>n`<button class="text" aria-pressed=${$===r} data-ui=${`sender-${$.id}`} onClick=${()=>m({sender:$.id})}>${$.name}</button>`)}</nav>
${r.port&&!d&&n`<${lt} api=${e.api} flag=${r.port.flag} value=${r.port.text({origin:location.origin,db:l,table:i,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${r.name}><div class="head"><h2>${r.name}</h2><span class="quiet">${r.file}</span><span class="grow"></span>
${!d&&n`<button class="button" onClick=${()=>O(u)}>Copy</button>`}</div>
${d?n`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:n`<pre data-ui="snippet" tabindex="0">${u}</pre>`}
${r.note&&n`<p class="quiet none">${r.note}</p>`}
${o.user.value&&n`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${o.session.value?.auth==="token"?"a token that may store rows":`the password of ${o.user.value}`}.</p>`}</section>
<${dt} adding=${t} to=${{db:l,table:i,pipeline:c}} />
<${ct} stores=${e} db=${l} table=${i} />
<${$t} key=${`${l}.${i}`} stores=${e} db=${l} table=${i} />
</div>`}function lt({api:e,flag:t,value:a}){let[o,s]=g("");v(()=>{e.send({path:"/config"}).then(async i=>s(await i.text()),()=>{})},[]);let r=de(o,t),l=`cordwood serve --${t} ${ge(a)}`;return n`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${r?`It listens at ${r}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>O(l)}>Copy</button></div><pre tabindex="0">${l}</pre></section>`}function Ue(e){return e.currentTarget.value.trim()}function it({api:e}){let[t,a]=g([]);return v(()=>{e.json({path:"/v1/pipelines"}).then(o=>a(o.pipelines.map(s=>s.name)),()=>{})},[]),n`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(o=>n`<option value=${o}></option>`)}</datalist>`}function dt({adding:e,to:t}){let[a,o]=g(!1),s=he(null),r=i=>i?.[0]&&void e.send(i[0],t),l=e.sending.value;return n`<section class=${`drop ${a?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),o(!0)}}
onDragLeave=${()=>o(!1)}
onDrop=${i=>{i.preventDefault(),o(!1),r(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>s.current?.click()}>Choose a file</button>
<input ref=${s} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>r(i.currentTarget.files)} /></p>
${l&&n`<p role="status">${l.name}: ${w(l.sent)} of ${w(l.size)}, ${f(l.rows)} rows stored${l.done?l.error?`. ${l.error}`:", done.":"\u2026"} ${!l.done&&n`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${l.size>0?l.sent/l.size*100:100}%`}}></div>
${l.refused.map(i=>n`<p class="wrong">${f(i.count)} × ${i.reason}</p>`)}`}
</section>`}function ct({stores:e,db:t,table:a}){let{adding:o,api:s,prefs:r}=e,l=M(),[i]=g(()=>U(W)),c=o.rows.value,m=c.length>0;if(v(()=>{m&&i.run(u=>s.json({path:"/v1/explore/fields",body:{db:t,tables:[a]},signal:u}))},[m,t,a]),!m)return n`<section class="first" aria-live="polite" data-ui="first-row"><${mt} table=${a} /></section>`;let d=i.value.value;return n`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${f(o.count.value)} ${o.count.value===1?"row":"rows"} arrived in ${a}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(u=>u.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${S("explore",{db:t,t:a},{db:"public"})}>Open in Explore</a></div>
<${Z} count=${c.length} at=${u=>c[u]} shape=${Le(d)} columns=${[]} marks=${null} zone=${r.zone.value}
density=${r.density.value} narrow=${l} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var pt=3e3,ut=6e4;function $t({stores:e,db:t,table:a}){let[o]=g(()=>U(W));v(()=>{let r=Date.now()-ut,l=()=>document.visibilityState==="visible"&&void o.run(c=>e.rejects.newest({db:t,table:a,since:r},c));l();let i=setInterval(l,pt);return()=>{clearInterval(i),o.cancel()}},[t,a]);let s=o.value.value??[];return s.length===0?null:n`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${s.length===5?"Newest rejected records":`${f(s.length)} rejected ${s.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${S("rejects",{t:a})}>All rejects of ${a}</a></div>
<${J} stores=${e} rejects=${s} /></section>`}function mt({table:e}){let[t]=g(Date.now()),a=ve(1e3);return n`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${Math.floor((a-t)/1e3)} s</p>`}var P=()=>"",H={name:"node",label:"Node",kind:"node"},te={name:"shard",label:"Shard",kind:"shard"},V=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[H,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:P,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[H],word:P,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[H],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[H],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:P,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[te,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:P,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[te,{name:"replicas",label:"Replicas",kind:"number"}],word:P,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[te,H],word:P,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[te],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:P,request:e=>({kind:"table-move",table:e.table,to_shards:ht(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:P,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function ht(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}function We(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,a=>a.toUpperCase())}}function Fe({id:e,given:t,state:a,stores:o,onClose:s}){let{operations:r,health:l,tables:i}=o,c=V.find(b=>b.id===e),[m,d]=g({count:"1",replicas:String(a.replication),partitions:"2",...t});z(()=>r.clear(),[]);let u=r.asks.value,$=r.start.value.value,h=u||c.word(m);async function y(){let b=c.request(m);await r.begin(u?{...b,confirm:u}:b)&&(R(r.start.value.value?.message||"The operation has started."),s(),await l.load())}let p=b=>T=>d({...m,[b]:T});return n`<${Y} key=${u} title=${c.name.replace("\u2026","")} word=${h} action="Begin" busy=${r.start.since.value>0} onYes=${y} onClose=${s}>
<p>${c.says}</p>
${c.asks.map(b=>n`<label class=${b.kind==="check"?"check":""}>${b.kind!=="check"&&b.label}<${ft} asked=${b} value=${m[b.name]??""} state=${a} tables=${i.all.value} onValue=${p(b.name)} />${b.kind==="check"&&b.label}</label>`)}
<${bt} values=${m} state=${a} tables=${i.all.value} />
${u&&$?.message&&n`<p class="wrong" role="alert">${$.message}</p>`}
<${k} latest=${r.start} what="Beginning it" inForm /><//>`}function bt({values:e,state:t,tables:a}){let o=t.nodes.find(i=>i.name===(e.shard?"":e.node)),s=t.shards.find(i=>String(i.id)===e.shard),r=a.find(i=>`${i.db}.${i.name}`===e.table),l=s?`Shard ${s.id} has ${w(s.bytes)} on disk.`:o?`${o.name} has ${o.replicas} replicas with ${w(o.bytes)}, and leads ${o.leads} shards.`:r?`${e.table} has ${w(r.bytes)}.`:"";return l&&n`<p class="quiet">${l}</p>`}function ft({asked:e,value:t,state:a,tables:o,onValue:s}){let r=c=>s(c.currentTarget.value),l=`act-${e.name}`;if(e.kind==="check")return n`<input type="checkbox" data-ui=${l} checked=${t==="yes"} onChange=${()=>s(t==="yes"?"":"yes")} />`;if(e.kind==="number")return n`<input type="number" data-ui=${l} required min="1" max="64" value=${t} onInput=${r} />`;if(e.kind==="shards")return n`<input required data-ui=${l} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${r} />`;let i={node:()=>a.nodes.map(c=>c.name),shard:()=>a.shards.map(c=>String(c.id)),table:()=>o.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return n`<select required data-ui=${l} value=${t} onChange=${r}><option value="">Choose</option>${i.map(c=>n`<option value=${c}>${c}</option>`)}</select>`}function ze({state:e,onClose:t}){let[a]=g(()=>new Set(e.nodes.map(l=>l.id))),o=e.nodes.filter(l=>!a.has(l.id)),r=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(l=>l.rpc_addr).join(",")}`].join(` \\
  `);return n`<${I} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${r}</pre>
<p role="status" data-ui="joined">${o.length===0?n`<span class="dot waiting"></span> Waiting for it to join…`:`${o.map(l=>l.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>O(r)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function Be({stores:e,onClose:t}){let{operations:a,health:o}=e;z(()=>{a.clear(),a.loadPlan()},[]);let s=a.plan.value.value;async function r(l){await a.begin({kind:l})&&(R(a.start.value.value?.message||"Started."),await o.load(),t())}return n`<${I} title="Rebalance" onClose=${t}><div class="asks">
<${k} latest=${a.plan} what="Asking for the plan" />
${s&&s.moves.length===0&&n`<p>Nothing would move: ${s.even||"the nodes are even"}.</p>`}
${s&&s.moves.length>0&&n`<p>${s.moves.length} replicas would move, ${w(s.moves.reduce((l,i)=>l+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${s.moves.map(l=>n`<tr><td>${l.shard}</td><td>${l.from}</td><td>${l.to}</td><td class="r">${w(l.bytes)}</td><td>${l.reason}</td></tr>`)}</tbody></table></div>`}
${s?.blocked.map(l=>n`<p class="wrong">${l}</p>`)}
<${k} latest=${a.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!s||s.moves.length===0} onClick=${()=>r("rebalance")}>Begin</button>
${s&&n`<button class="button" data-ui="pause" onClick=${()=>r(s.paused?"rebalance-resume":"rebalance-pause")}>${s.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function gt({stores:e}){let{health:t,signIn:a,operations:o}=e;v(()=>{document.title="Cluster \xB7 cordwood";let $=()=>{document.visibilityState==="visible"&&(t.load(),o.loadList())};o.loadList();let h=setInterval($,2e3);return()=>clearInterval(h)},[t]);let[s,r]=g({id:"",given:{}}),l=t.value.value;if(!l)return n`<h1 class="hidden">Cluster</h1><${k} latest=${t} what="Asking for the state of the cluster" />`;let i=l.health==="ok",c=a.canManage.value,m=(($,h={})=>r({id:$,given:h})),d=()=>r({id:"",given:{}}),u=l.failure_tolerance;return n`<div class="scrolled">
<div class="state"><h1>${i?"The cluster is healthy":n`The cluster is <i>${l.health}</i>`}</h1>
<span class="quiet">${u>0?`It survives the loss of ${u} ${u===1?"node":"nodes"}.`:`It survives the loss of no node; ${l.limited_by} limits it.`}</span></div>
<${k} latest=${t} what="Asking for the state of the cluster" />
${l.problems.map($=>n`<div class="problem"><p><b>${$.text}</b> ${$.advice}</p></div>`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${c&&n`<button class="text wide" data-ui="add-node" onClick=${()=>m("add-node")}>Add a node…</button><${Ge} group="nodes" onDo=${m} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th>disk</th><th class="opt">version</th></tr></thead>
<tbody>${l.nodes.map($=>n`<${vt} key=${$.id} node=${$} />`)}</tbody></table></div>
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${c&&n`<button class="text wide" data-ui="rebalance" onClick=${()=>m("rebalance")}>Rebalance…</button><${Ge} group="shards" onDo=${m} />`}</h2>
<${wt} state=${l} onDo=${c?m:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${xt} operations=${o.list.value.value??l.operations} stores=${e} may=${c} /></section>
</div></div>
${s.id==="add-node"&&n`<${ze} state=${l} onClose=${d} />`}
${s.id==="rebalance"&&n`<${Be} stores=${e} onClose=${d} />`}
${V.some($=>$.id===s.id)&&n`<${Fe} id=${s.id} given=${s.given} state=${l} stores=${e} onClose=${d} />`}`}function vt({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0;return n`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${e.silent_seconds>10&&` silent for ${Math.round(e.silent_seconds)} s`}</td>
<td>${e.roles.join(", ")}</td><td>${e.meta}</td><td class="r">${f(e.replicas)}</td><td class="r">${f(e.leads)}</td>
<td><span class=${`disk ${t>85?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>${w(e.disk_used)} of ${w(e.disk_capacity)}</td>
<td class="opt">${e.version}</td></tr>`}function Ge({group:e,onDo:t}){return n`<${B} button=${n`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${a=>V.filter(o=>o.group===e).map(o=>n`<button class="choice" data-ui=${`do-${o.id}`} onClick=${()=>{a(),t(o.id)}}>${o.name}</button>`)}<//>`}function wt({state:e,onDo:t}){let a=e.nodes.filter(o=>o.roles.includes("shard"));return n`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${a.map(o=>n`<th>${o.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(o=>n`<tr key=${o.id}><td>shard ${o.id}</td>${a.map(s=>{let[r,l,i]=kt(o,s.name),c=`shard ${o.id} on ${s.name}: ${l}`;return n`<td class=${i} data-ui="shard-cell" title=${c}>${t&&r!=="\xB7"?n`<${yt} letter=${r} says=${c} shard=${String(o.id)} node=${s.name} onDo=${t} />`:r}</td>`})}<td class="r opt">${f(o.lag)}</td><td class="r">${w(o.bytes)}</td><td><span class=${o.state==="ok"?"":"bad"}>${o.state}</span></td></tr>`)}</tbody></table></div>`}function yt({letter:e,says:t,shard:a,node:o,onDo:s}){return n`<${B} button=${n`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${r=>{let l=(i,c)=>{r(),s(i,c)};return n`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>l("shard-move",{shard:a,from:o})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>l("rebuild",{shard:a,node:o})}>Rebuild…</button>`}}<//>`}function kt(e,t){return e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function xt({operations:e,stores:t,may:a}){let{cancelling:o}=t.operations;return e.length===0?n`<p class="quiet none">No operation is running or stored.</p>`:n`<${k} latest=${o} what="Cancelling" /><ul class="ops">${e.map(s=>{let r=s.state==="running",l=s.total_bytes>0?s.done_bytes/s.total_bytes*100:0,i=[r?s.step:`${s.state} ${Tt(s.ended??s.updated)}`,r&&s.total_bytes>0&&`${w(s.done_bytes)} of ${w(s.total_bytes)}`,r&&s.eta_seconds&&`${j(s.eta_seconds*1e3)} left`,s.reason,s.requested_by&&`requested by ${s.requested_by}`].filter(Boolean);return n`<li data-ui="operation" data-state=${s.state} key=${s.id}><h3>${We(s)}${r&&a&&(s.cancel?n`<span class="text">being cancelled</span>`:n`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(s.id).then(()=>t.health.load())}>Cancel</button>`)}</h3>
${r&&s.total_bytes>0&&n`<div class="bar" style=${{"--p":`${l}%`}}></div>`}<p>${i.join(" \xB7 ")}</p></li>`})}</ul>`}function Tt(e){return`${j(Math.max(0,Date.now()-Date.parse(e)))} ago`}function Ct({stores:e}){let{rejects:t,place:a,prefs:o,signIn:s}=e,r=a.here.value.params,l={pipeline:r.get("pipeline")??"",table:r.get("t")??"",kind:r.get("kind")??"",from:r.get("from")??"",to:r.get("to")??""},i=JSON.stringify(l),[c,m]=g(!1);v(()=>{document.title="Rejects \xB7 cordwood",t.load(l)},[i]);let d=p=>a.set("rejects",{pipeline:l.pipeline,t:l.table,kind:l.kind,from:l.from,to:l.to,...p}),u=t.reasons.value.value,$=t.samples.value.value??[],h=u?.list.reduce((p,b)=>p+b.count,0)??0,y=[["pipeline",l.pipeline,{pipeline:""}],["table",l.table,{t:""}],["kind",l.kind,{kind:""}],["from",l.from&&C(l.from,o.zone.value),{from:"",to:""}]];return n`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${u&&`${f(h)} records that could not be stored; they are kept for 7 days`}</span><span class="grow"></span>
${y.map(([p,b,T])=>b&&n`<button class="button" aria-label=${`Remove the condition ${p} ${b}`} onClick=${()=>d(T)}>${p} ${b} ✕</button>`)}
${l.pipeline&&n`<a class="button" href=${S("pipelines",{name:l.pipeline})}>Fix in pipeline</a>`}
${h>0&&s.canManage.value&&n`<button class="button main" data-ui="replay" onClick=${()=>m(!0)}>Replay…</button>`}</div>
<${q} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
<${k} latest=${t.reasons} what="Counting the rejects" />
${u&&h===0&&n`<${Rt} there=${u.there} />`}
${h>0&&n`<${St} rejects=${t} zone=${o.zone.value} onZoom=${(p,b)=>d({from:p,to:b})} />
<h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${o.zone.value}</th></tr></thead>
<tbody>${u?.list.map(p=>n`<tr data-ui="reason"><td class="r">${f(p.count)}</td><td class="samples" title=${p.reason}>${L(p.reason.slice(0,300))}</td>
<td><button class="text" onClick=${()=>d({kind:p.kind})}>${p.kind}</button></td><td><button class="text" onClick=${()=>d({pipeline:p.pipeline})}>${p.pipeline}</button></td>
<td><button class="text" onClick=${()=>d({t:p.table})}>${p.table}</button></td><td class="opt">${C(p.last,o.zone.value)}</td></tr>`)}</tbody></table></div>
<h2 class="head">The newest<span class="quiet">${f($.length)}</span><span class="grow"></span>
<a class="text go" href=${S("explore",{db:"svc_private",t:"rejects",q:l.pipeline?`pipeline=${l.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
<${J} stores=${e} rejects=${$.slice(0,50)} />`}
${c&&n`<${Ot} stores=${e} wanted=${l} count=${h} onClose=${()=>m(!1)} />`}</div>`}function St({rejects:e,zone:t,onZoom:a}){let o=e.overTime.value.value;return o?n`<p class="legend overtime">${o.series.map((s,r)=>n`<span><i style=${{background:Re(s.value,r,!1)}}></i>${s.value}<b>${f(s.counts.reduce((l,i)=>l+i,0))}</b></span>`)}</p>
<${Oe} hits=${o} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${a} />`:n`<${k} latest=${e.overTime} what="Counting over time" />`}function Rt({there:e}){return e?n`<${D} title="No record was rejected."><p>In the last 7 days, with these conditions.</p><//>`:n`<${D} title="The server keeps no rejected records.">
<p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
<p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function Ot({stores:e,wanted:t,count:a,onClose:o}){let{rejects:s}=e,[r,l]=g({toPipeline:"",toTable:""}),i=s.replay.value,c=i!==null&&!i.end;z(()=>(s.replay.value=null,()=>s.cancel()),[]);let m=i?.end&&i.dry&&!i.error,d=(u,$,h)=>n`<label>${$}<input value=${r[u]} placeholder=${h} onInput=${y=>l({...r,[u]:y.currentTarget.value.trim()})} /></label>`;return n`<${I} title=${`Replay ${f(a)} rejects`} onClose=${o}><div class="asks">
<p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
${d("toPipeline","Pipeline","the one that they were sent to")}${d("toTable","Table","the one that they were sent to")}
${i&&n`<p role="status" class=${i.failed>0?"wrong":""}>${i.dry?`${f(i.stored)} of ${f(i.of||i.done)} would be stored.`:`${f(i.stored)} stored, ${f(i.failed)} failed again, of ${f(i.of||i.done)}.`} ${i.error}</p>
<div class="bar" style=${{"--p":`${i.of>0?i.done/i.of*100:0}%`}}></div>
${(i.reasons??[]).slice(0,5).map(u=>n`<p class="wrong">${typeof u=="string"?u:`${f(u.count)} \xD7 ${u.reason}`}</p>`)}`}
<p class="acts"><button class=${`button ${m?"":"main"}`} data-ui="replay-try" disabled=${c} onClick=${()=>{s.send({...t,...r},!0)}}>Try it first</button>
<button class=${`button ${m?"main":""}`} data-ui="replay-now" disabled=${c} onClick=${()=>{s.send({...t,...r},!1).then(()=>s.load(t))}}>Replay</button>
${c&&n`<button class="button" data-ui="cancel" onClick=${s.cancel}>Stop</button>`}
<button class="button" onClick=${o}>Close</button></p></div><//>`}var He=["SELECT","INSERT, CREATE","ALTER","DROP","DELETE","USE","READ","WRITE","MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT","ALL"],Ve=["30d","90d","365d","NEVER"],Ke={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:a})=>`CREATE USER ${x(t)} PASSWORD ${_(a)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${x(e)} PASSWORD ${_(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:a})=>`ALTER USER CURRENT_USER PASSWORD ${_(a)} OLD ${_(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${x(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${x(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${x(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${x(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${x(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${x(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${x(t)} TO ${x(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>ue(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:a,on:o,expires:s,note:r})=>`CREATE TOKEN ${x(t)} FOR ${a==="query"?"QUERY ON":"INGEST INTO"} ${o} EXPIRES ${s==="NEVER"?"NEVER":`IN ${_(s)}`}${r?` NOTE ${_(r)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${x(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${x(e)}`,typed:!0}},Ye="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function ue(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function Ze(e,t){let a={...t};for(let[o,,s]of e.asks)s==="password"&&(a[o]="\u2026");return a}function ae({name:e,says:t,asks:a,choices:o,patterns:s={},initial:r={},word:l="",statement:i,latest:c,onRun:m,onClose:d,children:u}){let[$,h]=g(()=>({...Object.fromEntries(a.map(([b,,T])=>[b,T==="column"?"":o[T]?.[0]??""])),...r})),y=e.replace("\u2026","");return n`<${Y} title=${y} word=${l} action=${l?y:"Run it"} busy=${c.since.value>0} onYes=${()=>m($)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${u}
${a.map(([p,b,T])=>n`<label>${b}<${_t} name=${p} kind=${T} choices=${o[T]} pattern=${s[T]} value=${$[p]} onValue=${st=>h({...$,[p]:st})} /></label>`)}
<pre class="asked">${i($)}</pre>
<${k} latest=${c} what="The statement" inForm /><//>`}function _t({name:e,kind:t,choices:a,pattern:o,value:s,onValue:r}){let l=i=>r(i.currentTarget.value);if(!a){let[i,c]=t==="password"?["password","new-password"]:["text","off"];return n`<input required=${t!=="text?"} type=${i} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${o} value=${s} onInput=${l} />`}return n`<select required data-ui=${`ask-${e}`} value=${s} onChange=${l}>${t==="column"&&n`<option value="">Choose</option>`}${a.map(i=>n`<option value=${i}>${i}</option>`)}</select>`}function Je({stores:e}){let{access:t}=e,[a,o]=g(null),[s,r]=g(""),[l,i]=g(""),[c,m]=g(null);v(()=>{d()},[s]),v(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(s),t.loadTokens(s)])}function u(p){i(p),t.grants.value.value=null,t.loadGrants(p)}async function $(p,b){let T=await t.change(p);T&&(o(null),T[0]?.Token?m(T[0]):R(`Done: ${b}`),await Promise.all([d(),t.loadRoles(),l&&t.loadGrants(l)]))}let h=(p,b="")=>o({id:p,target:b}),y=t.users.error.value?.status!==403;return n`<section aria-label="Users and tokens"><h2 class="head">${y?"Users and tokens":"My tokens"}<span class="grow"></span>
<button class="text" data-ui="own-password" onClick=${()=>h("ownPassword")}>Change my password…</button>
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${s} onInput=${p=>r(p.currentTarget.value)} /></h2>
${y&&n`<${Et} access=${t} onAct=${h} onGrants=${u} grantsOf=${l} />`}
${y&&n`<${Dt} access=${t} onAct=${h} onGrants=${u} grantsOf=${l} />`}
${l&&n`<${At} of=${l} access=${t} onAct=${h} />`}
<${Nt} access=${t} onAct=${h} />
${a&&n`<${Pt} key=${`${a.id} ${a.target}`} id=${a.id} target=${a.target} access=${t} onRun=${$} onClose=${()=>o(null)} />`}
${c&&n`<${jt} of=${c} onClose=${()=>m(null)} />`}</section>`}function Et({access:e,onAct:t,onGrants:a,grantsOf:o}){let s=e.users.value.value??[];return n`<${se} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${s.length>0&&n`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><th></th></tr></thead>
<tbody>${s.map(r=>{let l=!r.State.startsWith("disabled");return n`<tr key=${r.User} data-ui="user" data-name=${r.User}><td><b>${r.User}</b></td><td>${r.Roles}</td><td>${r.State}</td><td>${$e(r["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${o===r.User} onClick=${()=>a(r.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",r.User)}>Password…</button>
<button class="text" onClick=${()=>t(l?"disable":"enable",r.User)}>${l?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",r.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function Dt({access:e,onAct:t,onGrants:a,grantsOf:o}){let s=e.roles.value.value??[];return n`<${se} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${s.length>0&&n`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th></th></tr></thead>
<tbody>${s.map(r=>{let l=r.State==="built in";return n`<tr key=${r.Role} data-ui="role" data-name=${r.Role}><td><b>${r.Role}</b></td><td>${r.Roles}</td><td>${r.State}</td>
<td class="r"><button class="text" aria-expanded=${o===r.Role} onClick=${()=>a(r.Role)}>Grants</button>
${!l&&n`<button class="text" onClick=${()=>t("dropRole",r.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function At({of:e,access:t,onAct:a}){let o=t.grants.value.value;return n`<${se} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>a("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>a("grantRole",e)}>Grant a role…</button><//>
${o&&n`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${o.map(s=>n`<tr key=${s} data-ui="granted"><td class="mono">${s}</td><td class="r">${ue(s)&&n`<button class="text" onClick=${()=>a("revoke",s)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${o?.length===0&&n`<p class="quiet none">${e} has no grants.</p>`}`}function Nt({access:e,onAct:t}){let a=e.tokens.value.value??[];return n`<${se} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${a.length>0&&n`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><th></th></tr></thead>
<tbody>${a.map(o=>n`<tr key=${o.Id} data-ui="token" data-name=${o.Token}><td><b>${o.Token}</b><small>cw_${o.Id}</small></td><td class="mono">${o.Scope}</td><td>${o.State}</td>
<td>${$e(o.Expires)||"never"}</td><td title=${o["Last address"]}>${$e(o["Last used"])}</td><td>${o.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",o.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",o.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function se({title:e,latest:t,children:a}){let o=t.value.value?.length??0;return n`<h3 class="head">${e}<span class="quiet">${o>=oe&&`the first ${oe}`}</span><span class="grow"></span>${a}</h3>
<${k} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function Pt({id:e,target:t,access:a,onRun:o,onClose:s}){let r=Ke[e],l=(a.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),i=c=>r.statement(t,Ze(r,c));return n`<${ae} name=${r.name} says=${r.says} asks=${r.asks} word=${r.typed?t:""}
choices=${{privileges:He,role:l,scope:["ingest","query"],lifetime:Ve}} patterns=${{target:Ye}} initial=${{expires:"90d"}}
statement=${i} latest=${a.action} onRun=${c=>o(r.statement(t,c),i(c))} onClose=${s} />`}function jt({of:e,onClose:t}){return n`<${I} title=${`Token ${e.Name}`} onClose=${t}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
<p class="acts"><button class="button main" onClick=${()=>O(e.Token)}>Copy</button><button class="button" data-ui="secret-done" onClick=${t}>Done</button></p><//>`}var $e=e=>e.slice(0,16).replace("T"," ");function Lt({stores:e}){let{prefs:t,signIn:a}=e;v(()=>{document.title="Settings \xB7 cordwood"},[]);let o=a.session.value;return n`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${ne} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${ne} label="Times" value=${t.zone} choices=${Mt()} ui="zone" />
<${ne} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${ne} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${s=>t.table.value=s.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(s=>s.db==="public").map(s=>n`<option value=${s.name}>${s.name}</option>`)}</select></label>
<${It} stores=${e} />
<div class="setting"><span>Searches</span><span>${t.history.value.length} kept <button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button></span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${o?.auth==="off"?"This server has no users: everybody may do everything.":n`<b>${o?.user??""}</b>${o?.auth==="token"&&", by a token"}`}</span></div>
${o&&o.auth!=="off"&&n`<div class="setting"><span>May</span><span>${qt(o).join(", ")||"nothing"}</span></div>`}
${a.user.value&&n`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>a.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${o&&o.auth!=="off"&&n`<${Je} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${o?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${o?.server?.version}</span></div>
<${Ut} api=${e.api} />
</section></div>`}function It({stores:e}){let{prefs:t,tables:a,api:o}=e,s=a.all.value.filter(d=>d.db==="public"),[r,l]=g(t.table.value),[i]=g(()=>U(W)),c=Ee(t,"public",[r]),m=s.some(d=>d.name===r);return v(()=>{if(!m)return;let d={db:"public",tables:[r],...De(c)};i.run(u=>o.json({path:"/v1/explore/fields",body:d,signal:u}))},[r,m,c.message,c.level]),n`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${m?r:""} onChange=${d=>l(d.currentTarget.value)}>
<option value="">a table</option>${s.map(d=>n`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${k} latest=${i} what="Asking for the columns" />
${m&&i.value.value&&n`<${Ae} fields=${i.value.value.fields} roles=${c} onRole=${(d,u)=>t.roles.set(_e("public",[r]),{...c,[d]:u})} />`}`}function qt(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function Mt(){return Object.fromEntries([...new Set([ke,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function ne({label:e,value:t,choices:a,ui:o}){return n`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${o}><span>${e}</span><span class="choices-in-line">${Object.entries(a).map(([s,r])=>n`<label><input type="radio" name=${e} value=${s} checked=${t.value===s} onChange=${()=>t.value=s} />${r}</label>`)}</span></div>`}function Ut({api:e}){let[t]=g(()=>U(W));return v(()=>{t.run(async a=>(await e.send({path:"/config",signal:a})).text())},[]),n`<div class="setting"><span>Started with</span><${k} latest=${t} what="Asking for the settings" />${t.value.value&&n`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var Wt=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],Ft=["INVERTED","SKIPPING","FULLTEXT"],me=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${_(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:a})=>`ALTER TABLE ${e} ADD COLUMN ${x(t)} ${a}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:a})=>`ALTER TABLE ${e} MODIFY COLUMN ${x(t)} SET ${a} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${x(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function Xe({id:e,db:t,name:a,info:o,fields:s,stores:r,onClose:l}){let{table:i,tables:c,place:m}=r,d=me.find($=>$.id===e);async function u($){let h=d.statement(x(a),$);await i.change(t,h)&&(R(`Done: ${h}`),l(),await c.load(),d.gone?m.set("tables",e==="rename"?{db:t,t:$.to}:{db:t},{db:"public"}):await i.load(t,a))}return n`<${ae} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?a:""}
choices=${{type:Wt,index:Ft,column:s.map($=>$.name)}} initial=${{ttl:o?.ttl??"",to:a}}
statement=${$=>d.statement(x(a),$)} latest=${i.action} onRun=${u} onClose=${l}>
${d.typed&&o&&n`<p><b>${t}.${a}</b> has ${f(o.rows)} rows, ${w(o.bytes)}.</p>`}<//>`}function Qe({db:e,name:t,info:a,stores:o,onClose:s}){let{table:r,prefs:l,signIn:i}=o,[c,m]=g("");v(()=>{r.latest.value.value=null,r.load(e,t)},[e,t]);let d=r.latest.value.value,u=l.zone.value,$=e==="svc_private"||e==="information_schema";return n`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!$&&i.canManage.value&&n`<${B} button=${n`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${h=>me.map(({id:y,name:p})=>n`<button class="choice" data-ui=${`do-${y}`} onClick=${()=>{h(),m(y)}}>${p}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${s}>✕</button></div>
<${q} since=${r.latest.since.value} onCancel=${r.latest.cancel} />
<div class="scrolled">
${a&&n`<${zt} info=${a} lastRow=${d?.lastRow??null} zone=${u} />`}
<p class="acts"><a class="text go" href=${S("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${S("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${S("sql",{db:e,q:`SELECT * FROM "${t}" LIMIT 100`},{db:"public"})}>SQL</a></p>
<${k} latest=${r.latest} what="Asking for the table" />
${d&&n`<${Bt} details=${d} />
<${Gt} segments=${d.segments} zone=${u} />
<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>O(d.ddl)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${je(d.ddl).map(h=>h.keyword?n`<b>${h.text}</b>`:h.text)}</pre>`}
</div>
${c&&n`<${Xe} id=${c} db=${e} name=${t} info=${a} fields=${d?.fields??[]} stores=${o} onClose=${()=>m("")} />`}
</section>`}function zt({info:e,lastRow:t,zone:a}){let o=[["rows",f(e.rows)],["bytes",`${w(e.bytes)}${e.rows>0?`, ${w(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",t?`${C(t,a)}, ${j(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:"none"],["options",e.options]];return n`<dl>${o.map(([s,r])=>r&&n`<div><dt>${s}</dt><dd>${r}</dd></div>`)}</dl>`}function Bt({details:e}){return n`<h3 class="head">Columns<span class="quiet">${f(e.fields.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.fields.map(t=>{let a=[...new Set(e.rows.map(o=>fe(o.v[t.name])).filter(Boolean))];return n`<tr><td>${t.name}${t.role&&n`<small>${t.role}</small>`}</td><td>${t.type}</td><td>${t.index??""}</td>
<td class="r">${Math.round(t.fill*100)} %</td><td class="samples" title=${a.join(", ").slice(0,500)}>${L(a.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Gt({segments:e,zone:t}){if(e.length===0)return n`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let a=Math.min(...e.map(i=>Date.parse(i.from))),o=Math.max(...e.map(i=>Date.parse(i.to))),s=Math.max(...e.map(i=>i.rows)),r=i=>o>a?(Date.parse(i)-a)/(o-a)*100:0,l=e.reduce((i,c)=>i+c.bytes,0);return n`<h3 class="head">Segments<span class="quiet">${f(e.length)}, ${w(l)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${C(e[e.length-1].from,t)} to ${C(e[0].to,t)}`}>${e.map(i=>n`<i key=${i.file} title=${`${f(i.rows)} rows, ${w(i.bytes)}, ${C(i.from,t)} \u2013 ${C(i.to,t)}`}
style=${{left:`${r(i.from)}%`,width:`max(2px, ${r(i.to)-r(i.from)}%)`,height:`${Math.max(4,i.rows/s*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${C(new Date(a).toISOString(),t)}</span><span>${C(new Date(o).toISOString(),t)}</span></p>`}var et=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function Ht({stores:e}){let{tables:t,place:a}=e,o=a.here.value.params,[s,r]=[o.get("db")??"public",o.get("t")??""],[l,i]=g(""),[c,m]=g({by:"name",down:!1});v(()=>{t.load()},[t]),v(()=>{document.title=r?`${s}.${r} \xB7 cordwood`:"Tables \xB7 cordwood"},[s,r]),v(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(p,b){a.set("tables",{db:p,t:b},{db:"public"})}let u=t.all.value,$=be(()=>Kt(u,l,c),[u,l,c]),h=r?u.find(p=>p.db===s&&p.name===r):void 0,y=t.latest.value.value!==null;return n`<h1 class="hidden">Tables</h1>
<${q} since=${y?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${r?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${l}
onInput=${p=>i(p.currentTarget.value)} />
<span class="quiet">${y&&Vt(u,$)}</span></div>
<${k} latest=${t.latest} what="Asking for the tables" />
${y&&u.length===0&&n`<${D} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
<p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
${u.length>0&&n`<${Yt} shown=${$} sort=${c} onSort=${m} selected=${h} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${r&&(h||!y?n`<${Qe} key=${`${s}.${r}`} db=${s} name=${r} info=${h} stores=${e} onClose=${()=>d("","")} />`:n`<section class="pane detail" aria-label="Table"><${D} title=${`There is no table ${s}.${r}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function Vt(e,t){let a=t.reduce((s,r)=>s+r.bytes,0);return`${e.length===t.length?`${f(e.length)} ${e.length===1?"table":"tables"}`:`${f(t.length)} of ${f(e.length)} tables`}, ${w(a)}`}function Kt(e,t,a){let o=t.trim().toLowerCase(),s=et.find(([i])=>i===a.by)?.[2]??(i=>`${i.db}.${i.name}`),r=new Intl.Collator("en",{numeric:!0}),l=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(o));return l.sort((i,c)=>{let[m,d]=[s(i),s(c)];return typeof m=="number"&&typeof d=="number"?m-d:r.compare(String(m),String(d))}),a.down?l.reverse():l}function Yt({shown:e,sort:t,onSort:a,selected:o,onOpen:s,lastRows:r}){let l=M();v(()=>r.stop,[r]);let i=et.map(([m,d,u,$])=>{if(!u)return n`<span class=${$}>${d}</span>`;let h=t.by===m;return n`<button class=${$} aria-pressed=${h} title=${`Sort by ${d}`}
onClick=${()=>a({by:m,down:h?!t.down:$.startsWith("r")})}>${d}${h&&(t.down?" \u2193":" \u2191")}</button>`});function c(m){let d=e[m],u=d===o;return n`<div class=${`row tablerow ${u?"on":""}`} role="row" aria-rowindex=${m+1} aria-selected=${u} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>s(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${f(d.rows)}</span><span class="r" role="gridcell">${w(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${r.of(d)}>${Zt(r.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?w(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return n`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${Ce} count=${e.length} height=${l?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(m,d)=>{r.see(l?[]:e.slice(m,d))}}
focus=${o?e.indexOf(o):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Zt(e){return e===void 0?"":e?`${j(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function Jt({stores:e}){let{tail:t,prefs:a,tables:o}=e,s=t.state.value,r=M(),[l,i]=g(null);v(()=>{t.clear(),i(null),s.table&&(a.table.value=s.table),t.follow(),document.title=`tail ${s.table} \xB7 cordwood`},[s.db,s.table,s.q]),Xt(t);let c=t.ignored.value.join(", ");v(()=>{c&&R(`The page does not know this part of the address, and ignores it: ${c}`)},[c]),v(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>tt(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function m(p){if(i(p),!p.cut)return;let b=await t.wholeRow(p).catch(()=>null);b&&i(T=>T?.id===p.id?b:T)}let{count:d,dropped:u,still:$}=t.drawn.value,h=t.held.value,y=a.zone.value;return n`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${p=>{p.preventDefault(),t.set({q:t.draft.value})}}
>
<${Ne}
db=${s.db}
tables=${s.table?[s.table]:[]}
all=${o.all.value}
single
onPick=${(p,b)=>t.set({db:p,t:b[b.length-1]})}
/>
<${Pe}
text=${t.draft.value}
onText=${p=>t.draft.value=p}
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
><span class=${`dot ${t.live.value&&!h?"":"bad"}`}></span>${h?`Held at ${xe(h.at,y).time}`:t.live.value?`Live \xB7 ${f(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${h!==null}
onClick=${()=>h?t.release():t.hold()}
>
${h?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${s.wrap}
data-ui="wrap"
onClick=${()=>tt(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${p=>t.most.value=Number(p.currentTarget.value)}
>
${Ie.map(p=>n`<option value=${p}>${f(p)}</option>`)}
</select></label
>
<span class="grow"></span>
${h&&n`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${f(t.fresh())} new rows</button>`}
${u>0&&n`<span class="quiet" data-ui="tail-dropped">${f(u)} older rows are in the table only</span>`}
${$&&n`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${at(t)}
>Explore this</a
>
</div>
${t.ended.value&&n`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${at(t)}>Show them in Explore</a></div>`}
${!t.isMissing()&&n`<${k} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${l?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows">
${d===0?n`<${D}
title=${t.isMissing()?`There is no table ${s.table} yet.`:s.table?`Waiting for new rows in ${s.table}.`:"Choose a table to follow."}
>
${t.isMissing()&&n`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${s.table&&!t.isMissing()&&n`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:n`<${Z}
count=${d}
at=${t.at}
shape=${t.shape.value}
columns=${Te(r,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${y}
density=${a.density.value}
narrow=${r}
label=${`${d} rows, newest last`}
selected=${l?.id??""}
dropped=${u}
follow=${!h}
wrap=${s.wrap}
onEnd=${p=>!p&&t.hold()}
onOpen=${p=>{t.hold(),p.id===l?.id?i(null):m(p)}}
/>`}
</section>
${l&&n`<${Se}
row=${l}
shape=${t.shape.value}
zone=${y}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${p=>t.set({q:we(s.q,p)})}
onWithout=${p=>t.set({q:ye(s.q,p)})}
onClose=${()=>i(null)}
/>`}
</div>`}function tt(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function at(e){let{db:t,table:a,q:o}=e.state.value;return S("explore",{db:t,t:a,q:o,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function Xt(e){v(()=>{let t,a=0,o=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{a=Date.now(),e.stop()},3e4);else if(a){let r=`${Math.ceil((Date.now()-a)/1e3)+30}s`;a=0,e.follow(r)}},s=()=>{let r=getSelection();r&&!r.isCollapsed&&r.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",o),document.addEventListener("selectionchange",s),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",o),document.removeEventListener("selectionchange",s),e.stop()}},[e])}export{rt as AddPage,gt as ClusterPage,Ct as RejectsPage,Lt as SettingsPage,Ht as TablesPage,Jt as TailPage};
