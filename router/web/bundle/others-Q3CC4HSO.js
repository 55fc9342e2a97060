import{A as he,B as fe,C as be,D as x,E as P,G as ve,H as Z,I as ge,K as we,L as ye,M as ke,N as xe,O as _e,P as Ce,Q as Se,S as Te,T as Oe,U as B,V as De,W as Re,X as q,Y as N,Z as Ae,a as g,b as w,c as M,d as de,e as ce,f as n,g as f,h as y,i as R,j as A,l as pe,m as G,n as ue,o as W,p as z,q as J,r as F,s as _,u as E,v as k,w as $e,x as j,y as S,z as me}from"./chunk-QR3ZF7ZA.js";function K({stores:e,rejects:t}){return n`<ul class="rejectlist">${t.map(s=>n`<li data-ui="reject"><p class="mono">${A(s.record.slice(0,500))}</p><p class="why">${A(s.error.slice(0,500))}</p>
<p class="quiet">${x(s.at,e.prefs.zone.value)} · ${s.pipeline} → ${s.table} · ${s.format} ·${" "}
<button class="text go" onClick=${()=>Je(e,s)}>Fix in pipeline</button></p></li>`)}</ul>`}async function Je({pipelines:e,place:t},s){await e.open(s.pipeline,""),e.setSamples([s.record,...e.samples.value.filter(o=>o!==s.record)]),t.set("pipelines",{name:s.pipeline,t:s.table})}function U(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function Y(e,t){return U(e)+(e.pipeline===C?`&custom_time_index=${t}`:"")}var C="svc_identity";function X(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===C?"":` --pipeline ${e.pipeline}`}`}function ae(e){return e.user?`export CORDWOOD_USER=${G(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Ee(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==C&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function I(e){return Ee(e).map(([t,s])=>`${t}: ${T(s)}`).join(", ")}function se(e){return Ee(e).map(([t,s])=>`"${t}" = "${s}"`).join(", ")}function T(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var Ze={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function ne({db:e,table:t,pipeline:s}){for(let[o,a]of[["database",e],["table",t],["pipeline",s]])if(!Ze[o].test(a))return`\u201C${a}\u201D cannot be the name of a ${o}. Use letters, digits, and the characters _ . : -`;return""}function O(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function oe(e,t){let s=e.split(`
`).find(o=>o.startsWith(`${t} = "`));return s?s.slice(t.length+4,s.lastIndexOf('"')):""}function re(e,t,s){let{host:o,port:a,secure:i}=O(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${o}
      port: ${a}${i?`
      tls: on`:""}
      uri: ${Y(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===C?"iso8601":s}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${T(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function le(...e){return t=>{let s=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==C&&`pipeline=${t.pipeline}`];return e.map(o=>`${o}?${s.filter(Boolean).join("&")}`).join(",")}}var je=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:le("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${O(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:le("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${O(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:le("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${O(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${O(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${I(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var Q=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${U(e)}' \\
     ${e.user?`-u ${G(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${ae(e)}cordwood ingest --server ${e.origin} ${X(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${ae(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${X(e)}${e.pipeline===C?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${U(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${T(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>re(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>re(e,`  inputs:
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
  endpoint ${Y(e,"time;epoch;ms")}
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
    url => "${Y(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
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
    url("${U(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${X(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${T(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${I(e)}}
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
    headers             = {${se(e)}}
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
    headers: {${I(e)}}${e.user?`
    basic_auth: {username: ${T(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:s,secure:o}=O(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${o?"https":"http"}://${t}:${s}/v1/elasticsearch"]${e.user?`
  username: ${T(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${I(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${se(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===C?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${T(e.table)}
        splunk-format: json`},...je];function Ke({stores:e}){let{adding:t,place:s,signIn:o}=e,a=s.here.value.params,i=Q.find(u=>u.id===a.get("sender"))??Q[0],[r,l,c]=[a.get("db")||"public",a.get("t")||"app",a.get("pipeline")||"svc_identity"];w(()=>{document.title="Add data \xB7 cordwood"},[]),w(()=>{let u=setTimeout(()=>{t.follow(r,l)},300);return()=>{clearTimeout(u),t.stop()}},[r,l]);let $=u=>s.set("add",{sender:i.id,t:l,db:r,pipeline:c,...u},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=ne({db:r,table:l,pipeline:c})||i.lacks?.({db:r,table:l,pipeline:c})||"",p=d?"":i.text({origin:location.origin,db:r,table:l,pipeline:c,user:o.user.value});return n`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${l} onInput=${u=>$({t:Pe(u)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${u=>$({pipeline:Pe(u)})} /></label>
<${Xe} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${Q.map(u=>n`<button class="text" aria-pressed=${u===i} data-ui=${`sender-${u.id}`} onClick=${()=>$({sender:u.id})}>${u.name}</button>`)}</nav>
${i.port&&!d&&n`<${Ye} api=${e.api} flag=${i.port.flag} value=${i.port.text({origin:location.origin,db:r,table:l,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${i.name}><div class="head"><h2>${i.name}</h2><span class="quiet">${i.file}</span><span class="grow"></span>
${!d&&n`<button class="button" onClick=${()=>E(p)}>Copy</button>`}</div>
${d?n`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:n`<pre data-ui="snippet" tabindex="0">${p}</pre>`}
${i.note&&n`<p class="quiet none">${i.note}</p>`}
${o.user.value&&n`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to the password of ${o.user.value}.</p>`}</section>
<${Qe} adding=${t} to=${{db:r,table:l,pipeline:c}} />
<${et} stores=${e} db=${r} table=${l} />
<${st} key=${`${r}.${l}`} stores=${e} db=${r} table=${l} />
</div>`}function Ye({api:e,flag:t,value:s}){let[o,a]=g("");w(()=>{e.send({path:"/config"}).then(async l=>a(await l.text()),()=>{})},[]);let i=oe(o,t),r=`cordwood serve --${t} ${ue(s)}`;return n`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${i?`It listens at ${i}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>E(r)}>Copy</button></div><pre tabindex="0">${r}</pre></section>`}function Pe(e){return e.currentTarget.value.trim()}function Xe({api:e}){let[t,s]=g([]);return w(()=>{e.json({path:"/v1/pipelines"}).then(o=>s(o.pipelines.map(a=>a.name)),()=>{})},[]),n`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(o=>n`<option value=${o}></option>`)}</datalist>`}function Qe({adding:e,to:t}){let[s,o]=g(!1),a=de(null),i=l=>l?.[0]&&void e.send(l[0],t),r=e.sending.value;return n`<section class=${`drop ${s?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${l=>{l.preventDefault(),o(!0)}}
onDragLeave=${()=>o(!1)}
onDrop=${l=>{l.preventDefault(),o(!1),i(l.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>a.current?.click()}>Choose a file</button>
<input ref=${a} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${l=>i(l.currentTarget.files)} /></p>
${r&&n`<p role="status">${r.name}: ${y(r.sent)} of ${y(r.size)}, ${f(r.rows)} rows stored${r.done?r.error?`. ${r.error}`:", done.":"\u2026"} ${!r.done&&n`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${r.size>0?r.sent/r.size*100:100}%`}}></div>
${r.refused.map(l=>n`<p class="wrong">${f(l.count)} × ${l.reason}</p>`)}`}
</section>`}function et({stores:e,db:t,table:s}){let{adding:o,api:a,prefs:i}=e,r=P(),[l]=g(()=>q(N)),c=o.rows.value,$=c.length>0;if(w(()=>{$&&l.run(p=>a.json({path:"/v1/explore/fields",body:{db:t,tables:[s]},signal:p}))},[$,t,s]),!$)return n`<section class="first" aria-live="polite" data-ui="first-row"><${nt} table=${s} /></section>`;let d=l.value.value;return n`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${f(o.count.value)} ${o.count.value===1?"row":"rows"} arrived in ${s}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(p=>p.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${_("explore",{db:t,t:s},{db:"public"})}>Open in Explore</a></div>
<${Z} count=${c.length} at=${p=>c[p]} shape=${Re(d)} columns=${[]} marks=${null} zone=${i.zone.value}
density=${i.density.value} narrow=${r} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var tt=3e3,at=6e4;function st({stores:e,db:t,table:s}){let[o]=g(()=>q(N));w(()=>{let i=Date.now()-at,r=()=>document.visibilityState==="visible"&&void o.run(c=>e.rejects.newest({db:t,table:s,since:i},c));r();let l=setInterval(r,tt);return()=>{clearInterval(l),o.cancel()}},[t,s]);let a=o.value.value??[];return a.length===0?null:n`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${a.length===5?"Newest rejected records":`${f(a.length)} rejected ${a.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${_("rejects",{t:s})}>All rejects of ${s}</a></div>
<${K} stores=${e} rejects=${a} /></section>`}function nt({table:e}){let[t]=g(Date.now()),s=$e(1e3);return n`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${Math.floor((s-t)/1e3)} s</p>`}var D=()=>"",H={name:"node",label:"Node",kind:"node"},ee={name:"shard",label:"Shard",kind:"shard"},V=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[H,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:D,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[H],word:D,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[H],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[H],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:D,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[ee,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:D,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[ee,{name:"replicas",label:"Replicas",kind:"number"}],word:D,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[ee,H],word:D,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[ee],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:D,request:e=>({kind:"table-move",table:e.table,to_shards:ot(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:D,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function ot(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}function qe(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,s=>s.toUpperCase())}}function Ne({id:e,given:t,state:s,stores:o,onClose:a}){let{operations:i,health:r,tables:l}=o,c=V.find(v=>v.id===e),[$,d]=g({count:"1",replicas:String(s.replication),partitions:"2",...t});M(()=>i.clear(),[]);let p=i.asks.value,u=i.start.value.value,b=p||c.word($);async function h(){let v=c.request($);await i.begin(p?{...v,confirm:p}:v)&&(W(i.start.value.value?.message||"The operation has started."),a(),await r.load())}let m=v=>L=>d({...$,[v]:L});return n`<${J} key=${p} title=${c.name.replace("\u2026","")} word=${b} action="Begin" onYes=${h} onClose=${a}>
<p>${c.says}</p>
${c.asks.map(v=>n`<label class=${v.kind==="check"?"check":""}>${v.kind!=="check"&&v.label}<${lt} asked=${v} value=${$[v.name]??""} state=${s} tables=${l.all.value} onValue=${m(v.name)} />${v.kind==="check"&&v.label}</label>`)}
<${rt} values=${$} state=${s} tables=${l.all.value} />
${p&&u?.message&&n`<p class="wrong" role="alert">${u.message}</p>`}
<${k} latest=${i.start} what="Beginning it" /><//>`}function rt({values:e,state:t,tables:s}){let o=t.nodes.find(l=>l.name===(e.shard?"":e.node)),a=t.shards.find(l=>String(l.id)===e.shard),i=s.find(l=>`${l.db}.${l.name}`===e.table),r=a?`Shard ${a.id} has ${y(a.bytes)} on disk.`:o?`${o.name} has ${o.replicas} replicas with ${y(o.bytes)}, and leads ${o.leads} shards.`:i?`${e.table} has ${y(i.bytes)}.`:"";return r&&n`<p class="quiet">${r}</p>`}function lt({asked:e,value:t,state:s,tables:o,onValue:a}){let i=c=>a(c.currentTarget.value),r=`act-${e.name}`;if(e.kind==="check")return n`<input type="checkbox" data-ui=${r} checked=${t==="yes"} onChange=${()=>a(t==="yes"?"":"yes")} />`;if(e.kind==="number")return n`<input type="number" data-ui=${r} required min="1" max="64" value=${t} onInput=${i} />`;if(e.kind==="shards")return n`<input required data-ui=${r} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${i} />`;let l={node:()=>s.nodes.map(c=>c.name),shard:()=>s.shards.map(c=>String(c.id)),table:()=>o.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return n`<select required data-ui=${r} value=${t} onChange=${i}><option value="">Choose</option>${l.map(c=>n`<option value=${c}>${c}</option>`)}</select>`}function Ie({state:e,onClose:t}){let[s]=g(()=>new Set(e.nodes.map(r=>r.id))),o=e.nodes.filter(r=>!s.has(r.id)),i=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(r=>r.rpc_addr).join(",")}`].join(` \\
  `);return n`<${z} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${i}</pre>
<p role="status" data-ui="joined">${o.length===0?n`<span class="dot waiting"></span> Waiting for it to join…`:`${o.map(r=>r.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>E(i)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function Le({stores:e,onClose:t}){let{operations:s,health:o}=e;M(()=>{s.clear(),s.loadPlan()},[]);let a=s.plan.value.value;async function i(r){await s.begin({kind:r})&&(W(s.start.value.value?.message||"Started."),await o.load(),t())}return n`<${z} title="Rebalance" onClose=${t}><div class="asks">
<${k} latest=${s.plan} what="Asking for the plan" />
${a&&a.moves.length===0&&n`<p>Nothing would move: ${a.even||"the nodes are even"}.</p>`}
${a&&a.moves.length>0&&n`<p>${a.moves.length} replicas would move, ${y(a.moves.reduce((r,l)=>r+l.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${a.moves.map(r=>n`<tr><td>${r.shard}</td><td>${r.from}</td><td>${r.to}</td><td class="r">${y(r.bytes)}</td><td>${r.reason}</td></tr>`)}</tbody></table></div>`}
${a?.blocked.map(r=>n`<p class="wrong">${r}</p>`)}
<${k} latest=${s.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!a||a.moves.length===0} onClick=${()=>i("rebalance")}>Begin</button>
${a&&n`<button class="button" data-ui="pause" onClick=${()=>i(a.paused?"rebalance-resume":"rebalance-pause")}>${a.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function it({stores:e}){let{health:t,signIn:s,operations:o}=e;w(()=>{document.title="Cluster \xB7 cordwood";let u=()=>{document.visibilityState==="visible"&&(t.load(),o.loadList())};o.loadList();let b=setInterval(u,2e3);return()=>clearInterval(b)},[t]);let[a,i]=g({id:"",given:{}}),r=t.value.value;if(!r)return n`<h1 class="hidden">Cluster</h1><${k} latest=${t} what="Asking for the state of the cluster" />`;let l=r.health==="ok",c=s.canManage.value,$=((u,b={})=>i({id:u,given:b})),d=()=>i({id:"",given:{}}),p=r.failure_tolerance;return n`<div class="scrolled">
<div class="state"><h1>${l?"The cluster is healthy":n`The cluster is <i>${r.health}</i>`}</h1>
<span class="quiet">${p>0?`It survives the loss of ${p} ${p===1?"node":"nodes"}.`:`It survives the loss of no node; ${r.limited_by} limits it.`}</span></div>
<${k} latest=${t} what="Asking for the state of the cluster" />
${r.problems.map(u=>n`<div class="problem"><p><b>${u.text}</b> ${u.advice}</p></div>`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${c&&n`<button class="text wide" data-ui="add-node" onClick=${()=>$("add-node")}>Add a node…</button><${Me} group="nodes" onDo=${$} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th>disk</th><th class="opt">version</th></tr></thead>
<tbody>${r.nodes.map(u=>n`<${dt} key=${u.id} node=${u} />`)}</tbody></table></div>
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${c&&n`<button class="text wide" data-ui="rebalance" onClick=${()=>$("rebalance")}>Rebalance…</button><${Me} group="shards" onDo=${$} />`}</h2>
<${ct} state=${r} onDo=${c?$:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${$t} operations=${o.list.value.value??r.operations} stores=${e} may=${c} /></section>
</div></div>
${a.id==="add-node"&&n`<${Ie} state=${r} onClose=${d} />`}
${a.id==="rebalance"&&n`<${Le} stores=${e} onClose=${d} />`}
${V.some(u=>u.id===a.id)&&n`<${Ne} id=${a.id} given=${a.given} state=${r} stores=${e} onClose=${d} />`}`}function dt({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0;return n`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${e.silent_seconds>10&&` silent for ${Math.round(e.silent_seconds)} s`}</td>
<td>${e.roles.join(", ")}</td><td>${e.meta}</td><td class="r">${f(e.replicas)}</td><td class="r">${f(e.leads)}</td>
<td><span class=${`disk ${t>85?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>${y(e.disk_used)} of ${y(e.disk_capacity)}</td>
<td class="opt">${e.version}</td></tr>`}function Me({group:e,onDo:t}){return n`<${F} button=${n`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${s=>V.filter(o=>o.group===e).map(o=>n`<button class="choice" data-ui=${`do-${o.id}`} onClick=${()=>{s(),t(o.id)}}>${o.name}</button>`)}<//>`}function ct({state:e,onDo:t}){let s=e.nodes.filter(o=>o.roles.includes("shard"));return n`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${s.map(o=>n`<th>${o.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(o=>n`<tr key=${o.id}><td>shard ${o.id}</td>${s.map(a=>{let[i,r,l]=ut(o,a.name),c=`shard ${o.id} on ${a.name}: ${r}`;return n`<td class=${l} data-ui="shard-cell" title=${c}>${t&&i!=="\xB7"?n`<${pt} letter=${i} says=${c} shard=${String(o.id)} node=${a.name} onDo=${t} />`:i}</td>`})}<td class="r opt">${f(o.lag)}</td><td class="r">${y(o.bytes)}</td><td><span class=${o.state==="ok"?"":"bad"}>${o.state}</span></td></tr>`)}</tbody></table></div>`}function pt({letter:e,says:t,shard:s,node:o,onDo:a}){return n`<${F} button=${n`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${i=>{let r=(l,c)=>{i(),a(l,c)};return n`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>r("shard-move",{shard:s,from:o})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>r("rebuild",{shard:s,node:o})}>Rebuild…</button>`}}<//>`}function ut(e,t){return e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function $t({operations:e,stores:t,may:s}){let{cancelling:o}=t.operations;return e.length===0?n`<p class="quiet none">No operation is running or stored.</p>`:n`<${k} latest=${o} what="Cancelling" /><ul class="ops">${e.map(a=>{let i=a.state==="running",r=a.total_bytes>0?a.done_bytes/a.total_bytes*100:0,l=[i?a.step:`${a.state} ${mt(a.ended??a.updated)}`,i&&a.total_bytes>0&&`${y(a.done_bytes)} of ${y(a.total_bytes)}`,i&&a.eta_seconds&&`${R(a.eta_seconds*1e3)} left`,a.reason,a.requested_by&&`requested by ${a.requested_by}`].filter(Boolean);return n`<li data-ui="operation" data-state=${a.state} key=${a.id}><h3>${qe(a)}${i&&s&&(a.cancel?n`<span class="text">being cancelled</span>`:n`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(a.id).then(()=>t.health.load())}>Cancel</button>`)}</h3>
${i&&a.total_bytes>0&&n`<div class="bar" style=${{"--p":`${r}%`}}></div>`}<p>${l.join(" \xB7 ")}</p></li>`})}</ul>`}function mt(e){return`${R(Math.max(0,Date.now()-Date.parse(e)))} ago`}function ht({stores:e}){let{rejects:t,place:s,prefs:o,signIn:a}=e,i=s.here.value.params,r={pipeline:i.get("pipeline")??"",table:i.get("t")??"",kind:i.get("kind")??"",from:i.get("from")??"",to:i.get("to")??""},l=JSON.stringify(r),[c,$]=g(!1);w(()=>{document.title="Rejects \xB7 cordwood",t.load(r)},[l]);let d=m=>s.set("rejects",{pipeline:r.pipeline,t:r.table,kind:r.kind,from:r.from,to:r.to,...m}),p=t.reasons.value.value,u=t.samples.value.value??[],b=p?.list.reduce((m,v)=>m+v.count,0)??0,h=[["pipeline",r.pipeline,{pipeline:""}],["table",r.table,{t:""}],["kind",r.kind,{kind:""}],["from",r.from&&x(r.from,o.zone.value),{from:"",to:""}]];return n`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${p&&`${f(b)} records that could not be stored; they are kept for 7 days`}</span><span class="grow"></span>
${h.map(([m,v,L])=>v&&n`<button class="button" aria-label=${`Remove the condition ${m} ${v}`} onClick=${()=>d(L)}>${m} ${v} ✕</button>`)}
${r.pipeline&&n`<a class="button" href=${_("pipelines",{name:r.pipeline})}>Fix in pipeline</a>`}
${b>0&&a.canManage.value&&n`<button class="button main" data-ui="replay" onClick=${()=>$(!0)}>Replay…</button>`}</div>
<${j} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
<${k} latest=${t.reasons} what="Counting the rejects" />
${p&&b===0&&n`<${bt} there=${p.there} />`}
${b>0&&n`<${ft} rejects=${t} zone=${o.zone.value} onZoom=${(m,v)=>d({from:m,to:v})} />
<h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${o.zone.value}</th></tr></thead>
<tbody>${p?.list.map(m=>n`<tr data-ui="reason"><td class="r">${f(m.count)}</td><td class="samples" title=${m.reason}>${A(m.reason.slice(0,300))}</td>
<td><button class="text" onClick=${()=>d({kind:m.kind})}>${m.kind}</button></td><td><button class="text" onClick=${()=>d({pipeline:m.pipeline})}>${m.pipeline}</button></td>
<td><button class="text" onClick=${()=>d({t:m.table})}>${m.table}</button></td><td class="opt">${x(m.last,o.zone.value)}</td></tr>`)}</tbody></table></div>
<h2 class="head">The newest<span class="quiet">${f(u.length)}</span><span class="grow"></span>
<a class="text go" href=${_("explore",{db:"svc_private",t:"rejects",q:r.pipeline?`pipeline=${r.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
<${K} stores=${e} rejects=${u.slice(0,50)} />`}
${c&&n`<${vt} stores=${e} wanted=${r} count=${b} onClose=${()=>$(!1)} />`}</div>`}function ft({rejects:e,zone:t,onZoom:s}){let o=e.overTime.value.value;return o?n`<p class="legend overtime">${o.series.map((a,i)=>n`<span><i style=${{background:we(a.value,i,!1)}}></i>${a.value}<b>${f(a.counts.reduce((r,l)=>r+l,0))}</b></span>`)}</p>
<${ye} hits=${o} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${s} />`:n`<${k} latest=${e.overTime} what="Counting over time" />`}function bt({there:e}){return e?n`<${S} title="No record was rejected."><p>In the last 7 days, with these conditions.</p><//>`:n`<${S} title="The server keeps no rejected records.">
<p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
<p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function vt({stores:e,wanted:t,count:s,onClose:o}){let{rejects:a}=e,[i,r]=g({toPipeline:"",toTable:""}),l=a.replay.value,c=l!==null&&!l.end;M(()=>(a.replay.value=null,()=>a.cancel()),[]);let $=l?.end&&l.dry&&!l.error,d=(p,u,b)=>n`<label>${u}<input value=${i[p]} placeholder=${b} onInput=${h=>r({...i,[p]:h.currentTarget.value.trim()})} /></label>`;return n`<${z} title=${`Replay ${f(s)} rejects`} onClose=${o}><div class="asks">
<p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
${d("toPipeline","Pipeline","the one that they were sent to")}${d("toTable","Table","the one that they were sent to")}
${l&&n`<p role="status" class=${l.failed>0?"wrong":""}>${l.dry?`${f(l.stored)} of ${f(l.of||l.done)} would be stored.`:`${f(l.stored)} stored, ${f(l.failed)} failed again, of ${f(l.of||l.done)}.`} ${l.error}</p>
<div class="bar" style=${{"--p":`${l.of>0?l.done/l.of*100:0}%`}}></div>
${(l.reasons??[]).slice(0,5).map(p=>n`<p class="wrong">${typeof p=="string"?p:`${f(p.count)} \xD7 ${p.reason}`}</p>`)}`}
<p class="acts"><button class=${`button ${$?"":"main"}`} data-ui="replay-try" disabled=${c} onClick=${()=>{a.send({...t,...i},!0)}}>Try it first</button>
<button class=${`button ${$?"main":""}`} data-ui="replay-now" disabled=${c} onClick=${()=>{a.send({...t,...i},!1).then(()=>a.load(t))}}>Replay</button>
${c&&n`<button class="button" data-ui="cancel" onClick=${a.cancel}>Stop</button>`}
<button class="button" onClick=${o}>Close</button></p></div><//>`}function gt({stores:e}){let{prefs:t,signIn:s}=e;w(()=>{document.title="Settings \xB7 cordwood"},[]);let o=s.session.value;return n`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${te} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${te} label="Times" value=${t.zone} choices=${kt()} ui="zone" />
<${te} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${te} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${a=>t.table.value=a.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(a=>a.db==="public").map(a=>n`<option value=${a.name}>${a.name}</option>`)}</select></label>
<${wt} stores=${e} />
<div class="setting"><span>Searches</span><span>${t.history.value.length} kept <button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button></span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${o?.auth==="off"?"This server has no users: everybody may do everything.":n`<b>${o?.user??""}</b>`}</span></div>
${o&&o.auth!=="off"&&n`<div class="setting"><span>May</span><span>${yt(o).join(", ")||"nothing"}</span></div>`}
${s.user.value&&n`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>s.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${o?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${o?.server?.version}</span></div>
<${xt} api=${e.api} />
</section></div>`}function wt({stores:e}){let{prefs:t,tables:s,api:o}=e,a=s.all.value.filter(d=>d.db==="public"),[i,r]=g(t.table.value),[l]=g(()=>q(N)),c=xe(t,"public",[i]),$=a.some(d=>d.name===i);return w(()=>{if(!$)return;let d={db:"public",tables:[i],..._e(c)};l.run(p=>o.json({path:"/v1/explore/fields",body:d,signal:p}))},[i,$,c.message,c.level]),n`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${$?i:""} onChange=${d=>r(d.currentTarget.value)}>
<option value="">a table</option>${a.map(d=>n`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${k} latest=${l} what="Asking for the columns" />
${$&&l.value.value&&n`<${Ce} fields=${l.value.value.fields} roles=${c} onRole=${(d,p)=>t.roles.set(ke("public",[i]),{...c,[d]:p})} />`}`}function yt(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function kt(){return Object.fromEntries([...new Set([fe,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function te({label:e,value:t,choices:s,ui:o}){return n`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${o}><span>${e}</span><span class="choices-in-line">${Object.entries(s).map(([a,i])=>n`<label><input type="radio" name=${e} value=${a} checked=${t.value===a} onChange=${()=>t.value=a} />${i}</label>`)}</span></div>`}function xt({api:e}){let[t]=g(()=>q(N));return w(()=>{t.run(async s=>(await e.send({path:"/config",signal:s})).text())},[]),n`<div class="setting"><span>Started with</span><${k} latest=${t} what="Asking for the settings" />${t.value.value&&n`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var We=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],ze=["INVERTED","SKIPPING","FULLTEXT"],ie=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${De(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:s})=>`ALTER TABLE ${e} ADD COLUMN ${B(t)} ${s}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:s})=>`ALTER TABLE ${e} MODIFY COLUMN ${B(t)} SET ${s} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${B(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function Fe({id:e,db:t,name:s,info:o,fields:a,stores:i,onClose:r}){let{table:l,tables:c,place:$}=i,d=ie.find(m=>m.id===e),[p,u]=g({ttl:o?.ttl??"",type:We[0],index:ze[0],column:"",to:s}),b=d.statement(B(s),p);async function h(){await l.change(t,b)&&(W(`Done: ${b}`),r(),await c.load(),d.gone?$.set("tables",p.to!==s&&e==="rename"?{db:t,t:p.to}:{db:t},{db:"public"}):await l.load(t,s))}return n`<${J} title=${d.name.replace("\u2026","")} word=${d.typed?s:""} action=${d.typed?d.name.replace("\u2026",""):"Run it"}
onYes=${h} onClose=${()=>{l.action.error.value=null,r()}}>
<p>${d.says}</p>
${d.typed&&o&&n`<p><b>${t}.${s}</b> has ${f(o.rows)} rows, ${y(o.bytes)}.</p>`}
${d.asks.map(([m,v,L])=>n`<label>${v}<${_t} kind=${L} fields=${a} value=${p[m]} onValue=${Ge=>u({...p,[m]:Ge})} /></label>`)}
<pre class="asked">${b}</pre>
<${k} latest=${l.action} what="The statement" /><//>`}function _t({kind:e,fields:t,value:s,onValue:o}){let a=r=>o(r.currentTarget.value);if(e==="text")return n`<input required value=${s} onInput=${a} />`;let i=e==="type"?We:e==="index"?ze:t.map(r=>r.name);return n`<select required value=${s} onChange=${a}>${e==="column"&&n`<option value="">Choose</option>`}${i.map(r=>n`<option value=${r}>${r}</option>`)}</select>`}function Be({db:e,name:t,info:s,stores:o,onClose:a}){let{table:i,prefs:r,signIn:l}=o,[c,$]=g("");w(()=>{i.latest.value.value=null,i.load(e,t)},[e,t]);let d=i.latest.value.value,p=r.zone.value,u=e==="svc_private"||e==="information_schema";return n`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!u&&l.canManage.value&&n`<${F} button=${n`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${b=>ie.map(({id:h,name:m})=>n`<button class="choice" data-ui=${`do-${h}`} onClick=${()=>{b(),$(h)}}>${m}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${a}>✕</button></div>
<${j} since=${i.latest.since.value} onCancel=${i.latest.cancel} />
<div class="scrolled">
${s&&n`<${Ct} info=${s} lastRow=${d?.lastRow??null} zone=${p} />`}
<p class="acts"><a class="text go" href=${_("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${_("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${_("sql",{db:e,q:`SELECT * FROM "${t}" LIMIT 100`},{db:"public"})}>SQL</a></p>
<${k} latest=${i.latest} what="Asking for the table" />
${d&&n`<${St} details=${d} />
<${Tt} segments=${d.segments} zone=${p} />
<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>E(d.ddl)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${Oe(d.ddl).map(b=>b.keyword?n`<b>${b.text}</b>`:b.text)}</pre>`}
</div>
${c&&n`<${Fe} id=${c} db=${e} name=${t} info=${s} fields=${d?.fields??[]} stores=${o} onClose=${()=>$("")} />`}
</section>`}function Ct({info:e,lastRow:t,zone:s}){let o=[["rows",f(e.rows)],["bytes",`${y(e.bytes)}${e.rows>0?`, ${y(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",t?`${x(t,s)}, ${R(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:"none"],["options",e.options]];return n`<dl>${o.map(([a,i])=>i&&n`<div><dt>${a}</dt><dd>${i}</dd></div>`)}</dl>`}function St({details:e}){return n`<h3 class="head">Columns<span class="quiet">${f(e.fields.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.fields.map(t=>{let s=[...new Set(e.rows.map(o=>pe(o.v[t.name])).filter(Boolean))];return n`<tr><td>${t.name}${t.role&&n`<small>${t.role}</small>`}</td><td>${t.type}</td><td>${t.index??""}</td>
<td class="r">${Math.round(t.fill*100)} %</td><td class="samples" title=${s.join(", ").slice(0,500)}>${A(s.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Tt({segments:e,zone:t}){if(e.length===0)return n`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let s=Math.min(...e.map(l=>Date.parse(l.from))),o=Math.max(...e.map(l=>Date.parse(l.to))),a=Math.max(...e.map(l=>l.rows)),i=l=>o>s?(Date.parse(l)-s)/(o-s)*100:0,r=e.reduce((l,c)=>l+c.bytes,0);return n`<h3 class="head">Segments<span class="quiet">${f(e.length)}, ${y(r)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${x(e[e.length-1].from,t)} to ${x(e[0].to,t)}`}>${e.map(l=>n`<i key=${l.file} title=${`${f(l.rows)} rows, ${y(l.bytes)}, ${x(l.from,t)} \u2013 ${x(l.to,t)}`}
style=${{left:`${i(l.from)}%`,width:`max(2px, ${i(l.to)-i(l.from)}%)`,height:`${Math.max(4,l.rows/a*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${x(new Date(s).toISOString(),t)}</span><span>${x(new Date(o).toISOString(),t)}</span></p>`}var Ue=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function Ot({stores:e}){let{tables:t,place:s}=e,o=s.here.value.params,[a,i]=[o.get("db")??"public",o.get("t")??""],[r,l]=g(""),[c,$]=g({by:"name",down:!1});w(()=>{t.load()},[t]),w(()=>{document.title=i?`${a}.${i} \xB7 cordwood`:"Tables \xB7 cordwood"},[a,i]),w(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(m,v){s.set("tables",{db:m,t:v},{db:"public"})}let p=t.all.value,u=ce(()=>Rt(p,r,c),[p,r,c]),b=i?p.find(m=>m.db===a&&m.name===i):void 0,h=t.latest.value.value!==null;return n`<h1 class="hidden">Tables</h1>
<${j} since=${h?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${i?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${r}
onInput=${m=>l(m.currentTarget.value)} />
<span class="quiet">${h&&Dt(p,u)}</span></div>
<${k} latest=${t.latest} what="Asking for the tables" />
${h&&p.length===0&&n`<${S} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
<p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
${p.length>0&&n`<${At} shown=${u} sort=${c} onSort=${$} selected=${b} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${i&&(b||!h?n`<${Be} key=${`${a}.${i}`} db=${a} name=${i} info=${b} stores=${e} onClose=${()=>d("","")} />`:n`<section class="pane detail" aria-label="Table"><${S} title=${`There is no table ${a}.${i}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function Dt(e,t){let s=t.reduce((a,i)=>a+i.bytes,0);return`${e.length===t.length?`${f(e.length)} ${e.length===1?"table":"tables"}`:`${f(t.length)} of ${f(e.length)} tables`}, ${y(s)}`}function Rt(e,t,s){let o=t.trim().toLowerCase(),a=Ue.find(([l])=>l===s.by)?.[2]??(l=>`${l.db}.${l.name}`),i=new Intl.Collator("en",{numeric:!0}),r=e.filter(l=>`${l.db}.${l.name}`.toLowerCase().includes(o));return r.sort((l,c)=>{let[$,d]=[a(l),a(c)];return typeof $=="number"&&typeof d=="number"?$-d:i.compare(String($),String(d))}),s.down?r.reverse():r}function At({shown:e,sort:t,onSort:s,selected:o,onOpen:a,lastRows:i}){let r=P();w(()=>i.stop,[i]);let l=Ue.map(([$,d,p,u])=>{if(!p)return n`<span class=${u}>${d}</span>`;let b=t.by===$;return n`<button class=${u} aria-pressed=${b} title=${`Sort by ${d}`}
onClick=${()=>s({by:$,down:b?!t.down:u.startsWith("r")})}>${d}${b&&(t.down?" \u2193":" \u2191")}</button>`});function c($){let d=e[$],p=d===o;return n`<div class=${`row tablerow ${p?"on":""}`} role="row" aria-rowindex=${$+1} aria-selected=${p} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>a(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${f(d.rows)}</span><span class="r" role="gridcell">${y(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${i.of(d)}>${Et(i.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?y(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return n`<div class="tablehead tablerow">${l}</div>
<div class="rows"><${ve} count=${e.length} height=${r?44:28} label=${`${e.length} tables`} row=${c}
onSee=${($,d)=>{i.see(r?[]:e.slice($,d))}}
focus=${o?e.indexOf(o):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Et(e){return e===void 0?"":e?`${R(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function jt({stores:e}){let{tail:t,prefs:s,tables:o}=e,a=t.state.value,i=P(),[r,l]=g(null);w(()=>{t.clear(),l(null),a.table&&(s.table.value=a.table),t.follow(),document.title=`tail ${a.table} \xB7 cordwood`},[a.db,a.table,a.q]),Pt(t),w(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>He(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>l(null)]}),[e]);async function c(h){if(l(h),!h.cut)return;let m=await t.wholeRow(h).catch(()=>null);m&&l(v=>v?.id===h.id?m:v)}let{count:$,dropped:d,still:p}=t.drawn.value,u=t.held.value,b=s.zone.value;return n`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${h=>{h.preventDefault(),t.set({q:t.draft.value})}}
>
<${Se}
db=${a.db}
tables=${a.table?[a.table]:[]}
all=${o.all.value}
single
onPick=${(h,m)=>t.set({db:h,t:m[m.length-1]})}
/>
<${Te}
text=${t.draft.value}
onText=${h=>t.draft.value=h}
onRun=${()=>t.set({q:t.draft.value})}
fault=${null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${s.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!u?"":"bad"}`}></span>${u?`Held at ${be(u.at,b).time}`:t.live.value?`Live \xB7 ${f(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${u!==null}
onClick=${()=>u?t.release():t.hold()}
>
${u?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${a.wrap}
data-ui="wrap"
onClick=${()=>He(t)}
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
${Ae.map(h=>n`<option value=${h}>${f(h)}</option>`)}
</select></label
>
<span class="grow"></span>
${u&&n`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${f(t.fresh())} new rows</button>`}
${d>0&&n`<span class="quiet" data-ui="tail-dropped">${f(d)} older rows are in the table only</span>`}
${p&&n`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${Ve(t)}
>Explore this</a
>
</div>
${t.ended.value&&n`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${Ve(t)}>Show them in Explore</a></div>`}
<${k} latest=${t.fields} what="Following the table" />
<div class=${`panes tail ${r?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows">
${$===0?n`<${S}
title=${a.table?`Waiting for new rows in ${a.table}.`:"Choose a table to follow."}
>
${a.table&&n`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:n`<${Z}
count=${$}
at=${t.at}
shape=${t.shape.value}
columns=${i?[]:t.columns.value}
marks=${t.marks.value}
zone=${b}
density=${s.density.value}
narrow=${i}
label=${`${$} rows, newest last`}
selected=${r?.id??""}
dropped=${d}
follow=${!u}
wrap=${a.wrap}
onEnd=${h=>!h&&t.hold()}
onOpen=${h=>{t.hold(),h.id===r?.id?l(null):c(h)}}
/>`}
</section>
${r&&n`<${ge}
row=${r}
shape=${t.shape.value}
zone=${b}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${h=>t.set({q:me(a.q,h)})}
onWithout=${h=>t.set({q:he(a.q,h)})}
onClose=${()=>l(null)}
/>`}
</div>`}function He(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function Ve(e){let{db:t,table:s,q:o}=e.state.value;return _("explore",{db:t,t:s,q:o,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function Pt(e){w(()=>{let t,s=0,o=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{s=Date.now(),e.stop()},3e4);else if(s){let i=`${Math.ceil((Date.now()-s)/1e3)+30}s`;s=0,e.follow(i)}},a=()=>{let i=getSelection();i&&!i.isCollapsed&&i.anchorNode?.parentElement?.closest("[data-ui=row]")&&e.hold()};return document.addEventListener("visibilitychange",o),document.addEventListener("selectionchange",a),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",o),document.removeEventListener("selectionchange",a),e.stop()}},[e])}export{Ke as AddPage,it as ClusterPage,ht as RejectsPage,gt as SettingsPage,Ot as TablesPage,jt as TailPage};
