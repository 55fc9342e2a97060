import{A as _,Ba as Ee,Ca as ve,Da as we,E as Qe,Ea as mt,F as j,Fa as Re,G as C,Ga as Me,H as $e,Ha as Ae,I as N,Ia as $t,Ja as ft,Ka as ht,L as U,Na as bt,U as et,V as fe,W as I,Z as te,aa as tt,b as h,c as y,d as ee,e as M,ea as he,f as O,fa as be,ga as st,ha as at,ia as le,ja as nt,k as r,ka as ot,l as b,la as L,ma as W,n as S,na as rt,o as F,q as D,r as Ye,ra as lt,s as Z,sa as it,t as pe,ta as ct,u as Xe,ua as G,va as ie,w as B,wa as ge,x as q,xa as dt,y as me,ya as ut,z as V,za as pt}from"./part-XVDYU25K.js";function ye({stores:e,rejects:t}){return r`<ul class="rejectlist">${t.map(s=>r`<li data-ui="reject"><p class="mono">${D(s.record.slice(0,500))}</p><p class="why">${D(s.error.slice(0,500))}</p>
      <p class="quiet">${I(s.at,e.prefs.zone.value)} · ${s.pipeline} → ${s.table} · ${s.format} ·${" "}
        <button class="text go" onClick=${()=>hs(e,s)}>Fix in pipeline</button></p></li>`)}</ul>`}async function hs({pipelines:e,place:t},s){await e.open(s.pipeline,""),e.setSamples([s.record,...e.samples.value.filter(n=>n!==s.record)]),t.set("pipelines",{name:s.pipeline,t:s.table})}function ce(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function xe(e,t){return ce(e)+(e.pipeline===H?`&custom_time_index=${t}`:"")}var H="svc_identity";function ke(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===H?"":` --pipeline ${e.pipeline}`}`}function Ne(e){return e.user?`export CORDWOOD_USER=${pe(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function gt(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==H&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function se(e){return gt(e).map(([t,s])=>`${t}: ${Y(s)}`).join(", ")}function qe(e){return gt(e).map(([t,s])=>`"${t}" = "${s}"`).join(", ")}function Y(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var bs={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function je({db:e,table:t,pipeline:s}){for(let[n,a]of[["database",e],["table",t],["pipeline",s]])if(!bs[n].test(a))return`\u201C${a}\u201D cannot be the name of a ${n}. Use letters, digits, and the characters _ . : -`;return""}function X(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function Ie(e,t){let s=e.split(`
`).find(n=>n.startsWith(`${t} = "`));return s?s.slice(t.length+4,s.lastIndexOf('"')):""}function Le(e,t,s){let{host:n,port:a,secure:l}=X(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${n}
      port: ${a}${l?`
      tls: on`:""}
      uri: ${xe(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===H?"iso8601":s}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${Y(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function We(...e){return t=>{let s=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==H&&`pipeline=${t.pipeline}`];return e.map(n=>`${n}?${s.filter(Boolean).join("&")}`).join(",")}}var vt=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:We("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${X(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:We("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${X(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:We("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${X(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${X(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${se(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var Ce=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${ce(e)}' \\
     ${e.user?`-u ${pe(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${Ne(e)}cordwood ingest --server ${e.origin} ${ke(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${Ne(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${ke(e)}${e.pipeline===H?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${ce(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${Y(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>Le(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>Le(e,`  inputs:
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
  endpoint ${xe(e,"time;epoch;ms")}
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
    url => "${xe(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
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
    url("${ce(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${ke(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${Y(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${se(e)}}
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
    headers             = {${qe(e)}}
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
    headers: {${se(e)}}${e.user?`
    basic_auth: {username: ${Y(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:s,secure:n}=X(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${n?"https":"http"}://${t}:${s}/v1/elasticsearch"]${e.user?`
  username: ${Y(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${se(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${qe(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===H?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${Y(e.table)}
        splunk-format: json`},...vt];function gs({stores:e}){let{adding:t,place:s,signIn:n}=e,a=s.here.value.params,l=Ce.find(m=>m.id===a.get("sender"))??Ce[0],[o,i,d]=[a.get("db")||"public",a.get("t")||"app",a.get("pipeline")||"svc_identity"];y(()=>{document.title="Add data \xB7 cordwood"},[]),y(()=>{let m=setTimeout(()=>{t.follow(o,i)},300);return()=>{clearTimeout(m),t.stop()}},[o,i]);let u=m=>s.set("add",{sender:l.id,t:i,db:o,pipeline:d,...m},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),c=je({db:o,table:i,pipeline:d})||l.lacks?.({db:o,table:i,pipeline:d})||"",p=c?"":l.text({origin:location.origin,db:o,table:i,pipeline:d,user:n.user.value});return r`<div class="scrolled add"><div class="state"><h1>Add data</h1>
      <span class="quiet">The first rows create the table, with a column for each field.</span></div>
    <div class="asked-for">
      <label>Table<input data-ui="add-table" value=${i} onInput=${m=>u({t:wt(m)})} /></label>
      <label>Pipeline<input list="pipelines" value=${d} onInput=${m=>u({pipeline:wt(m)})} /></label>
      <${ws} api=${e.api} />
    </div>
    <nav class="senders" aria-label="Senders">${Ce.map(m=>r`<button class="text" aria-pressed=${m===l} data-ui=${`sender-${m.id}`} onClick=${()=>u({sender:m.id})}>${m.name}</button>`)}</nav>
    ${l.port&&!c&&r`<${vs} api=${e.api} flag=${l.port.flag} value=${l.port.text({origin:location.origin,db:o,table:i,pipeline:d,user:""})} />`}
    <section class="snippet" aria-label=${l.name}><div class="head"><h2>${l.name}</h2><span class="quiet">${l.file}</span><span class="grow"></span>
      ${!c&&r`<button class="button" onClick=${()=>j(p)}>Copy</button>`}</div>
      ${c?r`<p class="wrong" role="alert" data-ui="wrong-name">${c}</p>`:r`<pre data-ui="snippet" tabindex="0">${p}</pre>`}
      ${l.note&&r`<p class="quiet none">${l.note}</p>`}
      ${n.user.value&&r`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to the password of ${n.user.value}.</p>`}</section>
    <${ys} adding=${t} to=${{db:o,table:i,pipeline:d}} />
    <${xs} stores=${e} db=${o} table=${i} />
    <${Ss} key=${`${o}.${i}`} stores=${e} db=${o} table=${i} />
  </div>`}function vs({api:e,flag:t,value:s}){let[n,a]=h("");y(()=>{e.send({path:"/config"}).then(async i=>a(await i.text()),()=>{})},[]);let l=Ie(n,t),o=`cordwood serve --${t} ${Xe(s)}`;return r`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${l?`It listens at ${l}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
      <button class="button" onClick=${()=>j(o)}>Copy</button></div><pre tabindex="0">${o}</pre></section>`}function wt(e){return e.currentTarget.value.trim()}function ws({api:e}){let[t,s]=h([]);return y(()=>{e.json({path:"/v1/pipelines"}).then(n=>s(n.pipelines.map(a=>a.name)),()=>{})},[]),r`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(n=>r`<option value=${n}></option>`)}</datalist>`}function ys({adding:e,to:t}){let[s,n]=h(!1),a=M(null),l=i=>i?.[0]&&void e.send(i[0],t),o=e.sending.value;return r`<section class=${`drop ${s?"over":""}`} aria-label="Send a file" data-ui="drop"
    onDragOver=${i=>{i.preventDefault(),n(!0)}}
    onDragLeave=${()=>n(!1)}
    onDrop=${i=>{i.preventDefault(),n(!1),l(i.dataTransfer?.files)}}>
    <p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>a.current?.click()}>Choose a file</button>
      <input ref=${a} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>l(i.currentTarget.files)} /></p>
    ${o&&r`<p role="status">${o.name}: ${S(o.sent)} of ${S(o.size)}, ${b(o.rows)} rows stored${o.done?o.error?`. ${o.error}`:", done.":"\u2026"} ${!o.done&&r`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
      <div class="bar" style=${{"--p":`${o.size>0?o.sent/o.size*100:100}%`}}></div>
      ${o.refused.map(i=>r`<p class="wrong">${b(i.count)} × ${i.reason}</p>`)}`}
  </section>`}function xs({stores:e,db:t,table:s}){let{adding:n,api:a,prefs:l}=e,o=te(),[i]=h(()=>L(W)),d=n.rows.value,u=d.length>0;if(y(()=>{u&&i.run(p=>a.json({path:"/v1/explore/fields",body:{db:t,tables:[s]},signal:p}))},[u,t,s]),!u)return r`<section class="first" aria-live="polite" data-ui="first-row"><${Ts} table=${s} /></section>`;let c=i.value.value;return r`<section class="first pane" aria-live="polite" data-ui="first-row">
    <div class="head"><h2>${b(n.count.value)} ${n.count.value===1?"row":"rows"} arrived in ${s}</h2>
      <span class="quiet">${c&&`${c.fields.length} fields: ${c.fields.map(p=>p.name).join(", ")}`}</span><span class="grow"></span>
      <a class="button main" href=${_("explore",{db:t,t:s},{db:"public"})}>Open in Explore</a></div>
    <${be} count=${d.length} at=${p=>d[p]} shape=${ot(c)} columns=${[]} marks=${null} zone=${l.zone.value}
      density=${l.density.value} narrow=${o} label=${`${d.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var ks=3e3,Cs=6e4;function Ss({stores:e,db:t,table:s}){let[n]=h(()=>L(W));y(()=>{let l=Date.now()-Cs,o=()=>document.visibilityState==="visible"&&void n.run(d=>e.rejects.newest({db:t,table:s,since:l},d));o();let i=setInterval(o,ks);return()=>{clearInterval(i),n.cancel()}},[t,s]);let a=n.value.value??[];return a.length===0?null:r`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${a.length===5?"Newest rejected records":`${b(a.length)} rejected ${a.length===1?"record":"records"}`}</h2><span class="grow"></span>
      <a class="text" href=${_("rejects",{t:s})}>All rejects of ${s}</a></div>
    <${ye} stores=${e} rejects=${a} /></section>`}function Ts({table:e}){let[t]=h(Date.now()),s=$e(1e3);return r`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${Math.floor((s-t)/1e3)} s</p>`}var Q=()=>"",de={name:"node",label:"Node",kind:"node"},Se={name:"shard",label:"Shard",kind:"shard"},ue=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[de,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:Q,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[de],word:Q,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[de],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[de],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:Q,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[Se,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:Q,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[Se,{name:"replicas",label:"Replicas",kind:"number"}],word:Q,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[Se,de],word:Q,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[Se],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:Q,request:e=>({kind:"table-move",table:e.table,to_shards:_s(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:Q,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function _s(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}function yt(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,s=>s.toUpperCase())}}function xt({id:e,given:t,state:s,stores:n,onClose:a}){let{operations:l,health:o,tables:i}=n,d=ue.find(g=>g.id===e),[u,c]=h({count:"1",replicas:String(s.replication),partitions:"2",...t});ee(()=>l.clear(),[]);let p=l.asks.value,m=l.start.value.value,f=p||d.word(u);async function v(){let g=d.request(u);await l.begin(p?{...g,confirm:p}:g)&&(B(l.start.value.value?.message||"The operation has started."),a(),await o.load())}let $=g=>T=>c({...u,[g]:T});return r`<${me} key=${p} title=${d.name.replace("\u2026","")} word=${f} action="Begin" onYes=${v} onClose=${a}>
    <p>${d.says}</p>
    ${d.asks.map(g=>r`<label class=${g.kind==="check"?"check":""}>${g.kind!=="check"&&g.label}<${Ds} asked=${g} value=${u[g.name]??""} state=${s} tables=${i.all.value} onValue=${$(g.name)} />${g.kind==="check"&&g.label}</label>`)}
    <${Os} values=${u} state=${s} tables=${i.all.value} />
    ${p&&m?.message&&r`<p class="wrong" role="alert">${m.message}</p>`}
    <${C} latest=${l.start} what="Beginning it" /><//>`}function Os({values:e,state:t,tables:s}){let n=t.nodes.find(i=>i.name===(e.shard?"":e.node)),a=t.shards.find(i=>String(i.id)===e.shard),l=s.find(i=>`${i.db}.${i.name}`===e.table),o=a?`Shard ${a.id} has ${S(a.bytes)} on disk.`:n?`${n.name} has ${n.replicas} replicas with ${S(n.bytes)}, and leads ${n.leads} shards.`:l?`${e.table} has ${S(l.bytes)}.`:"";return o&&r`<p class="quiet">${o}</p>`}function Ds({asked:e,value:t,state:s,tables:n,onValue:a}){let l=d=>a(d.currentTarget.value),o=`act-${e.name}`;if(e.kind==="check")return r`<input type="checkbox" data-ui=${o} checked=${t==="yes"} onChange=${()=>a(t==="yes"?"":"yes")} />`;if(e.kind==="number")return r`<input type="number" data-ui=${o} required min="1" max="64" value=${t} onInput=${l} />`;if(e.kind==="shards")return r`<input required data-ui=${o} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${l} />`;let i={node:()=>s.nodes.map(d=>d.name),shard:()=>s.shards.map(d=>String(d.id)),table:()=>n.filter(d=>d.db!=="svc_private").map(d=>`${d.db}.${d.name}`)}[e.kind]();return r`<select required data-ui=${o} value=${t} onChange=${l}><option value="">Choose</option>${i.map(d=>r`<option value=${d}>${d}</option>`)}</select>`}function kt({state:e,onClose:t}){let[s]=h(()=>new Set(e.nodes.map(o=>o.id))),n=e.nodes.filter(o=>!s.has(o.id)),l=`cordwood serve --node-name NAME --data-dir /var/lib/cordwood \\
  --rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000 \\
  --cluster-secret-file cluster-secret --seeds ${e.nodes.map(o=>o.rpc_addr).join(",")}`;return r`<${q} title="Add a node" onClose=${t}><div class="asks">
    <p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
    <pre class="asked">${l}</pre>
    <p role="status" data-ui="joined">${n.length===0?r`<span class="dot waiting"></span> Waiting for it to join…`:`${n.map(o=>o.name).join(", ")} joined.`}</p>
    <p class="acts"><button class="button main" onClick=${()=>j(l)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function Ct({stores:e,onClose:t}){let{operations:s,health:n}=e;ee(()=>{s.clear(),s.loadPlan()},[]);let a=s.plan.value.value;async function l(o){await s.begin({kind:o})&&(B(s.start.value.value?.message||"Started."),await n.load(),t())}return r`<${q} title="Rebalance" onClose=${t}><div class="asks">
    <${C} latest=${s.plan} what="Asking for the plan" />
    ${a&&a.moves.length===0&&r`<p>Nothing would move: ${a.even||"the nodes are even"}.</p>`}
    ${a&&a.moves.length>0&&r`<p>${a.moves.length} replicas would move, ${S(a.moves.reduce((o,i)=>o+i.bytes,0))}.</p>
      <div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${a.moves.map(o=>r`<tr><td>${o.shard}</td><td>${o.from}</td><td>${o.to}</td><td class="r">${S(o.bytes)}</td><td>${o.reason}</td></tr>`)}</tbody></table></div>`}
    ${a?.blocked.map(o=>r`<p class="wrong">${o}</p>`)}
    <${C} latest=${s.start} what="Beginning it" />
    <p class="acts"><button class="button main" data-ui="confirm" disabled=${!a||a.moves.length===0} onClick=${()=>l("rebalance")}>Begin</button>
      ${a&&r`<button class="button" data-ui="pause" onClick=${()=>l(a.paused?"rebalance-resume":"rebalance-pause")}>${a.paused?"Resume it":"Pause it"}</button>`}
      <button class="button" onClick=${t}>Close</button></p></div><//>`}function Ps({stores:e}){let{health:t,signIn:s,operations:n}=e;y(()=>{document.title="Cluster \xB7 cordwood";let m=()=>{document.visibilityState==="visible"&&(t.load(),n.loadList())};n.loadList();let f=setInterval(m,2e3);return()=>clearInterval(f)},[t]);let[a,l]=h({id:"",given:{}}),o=t.value.value;if(!o)return r`<h1 class="hidden">Cluster</h1><${C} latest=${t} what="Asking for the state of the cluster" />`;let i=o.health==="ok",d=s.canManage.value,u=((m,f={})=>l({id:m,given:f})),c=()=>l({id:"",given:{}}),p=o.failure_tolerance;return r`<div class="scrolled">
    <div class="state"><h1>${i?"The cluster is healthy":r`The cluster is <i>${o.health}</i>`}</h1>
      <span class="quiet">${p>0?`It survives the loss of ${p} ${p===1?"node":"nodes"}.`:`It survives the loss of no node; ${o.limited_by} limits it.`}</span></div>
    <${C} latest=${t} what="Asking for the state of the cluster" />
    ${o.problems.map(m=>r`<div class="problem"><p><b>${m.text}</b> ${m.advice}</p></div>`)}
    <div class="cols"><section class="pane" aria-label="Nodes and shards">
        <h2 class="head">Nodes<span class="grow"></span>${d&&r`<button class="text wide" data-ui="add-node" onClick=${()=>u("add-node")}>Add a node…</button><${St} group="nodes" onDo=${u} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th>disk</th><th class="opt">version</th></tr></thead>
          <tbody>${o.nodes.map(m=>r`<${Es} key=${m.id} node=${m} />`)}</tbody></table></div>
        <h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${d&&r`<button class="text wide" data-ui="rebalance" onClick=${()=>u("rebalance")}>Rebalance…</button><${St} group="shards" onDo=${u} />`}</h2>
        <${Rs} state=${o} onDo=${d?u:null} /></section>
      <section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${Ns} operations=${n.list.value.value??o.operations} stores=${e} may=${d} /></section>
    </div></div>
    ${a.id==="add-node"&&r`<${kt} state=${o} onClose=${c} />`}
    ${a.id==="rebalance"&&r`<${Ct} stores=${e} onClose=${c} />`}
    ${ue.some(m=>m.id===a.id)&&r`<${xt} id=${a.id} given=${a.given} state=${o} stores=${e} onClose=${c} />`}`}function Es({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0;return r`<tr data-ui="node"><td>${e.name}</td>
    <td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${e.silent_seconds>10&&` silent for ${Math.round(e.silent_seconds)} s`}</td>
    <td>${e.roles.join(", ")}</td><td>${e.meta}</td><td class="r">${b(e.replicas)}</td><td class="r">${b(e.leads)}</td>
    <td><span class=${`disk ${t>85?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>${S(e.disk_used)} of ${S(e.disk_capacity)}</td>
    <td class="opt">${e.version}</td></tr>`}function St({group:e,onDo:t}){return r`<${V} button=${r`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${s=>ue.filter(n=>n.group===e).map(n=>r`<button class="choice" data-ui=${`do-${n.id}`} onClick=${()=>{s(),t(n.id)}}>${n.name}</button>`)}<//>`}function Rs({state:e,onDo:t}){let s=e.nodes.filter(n=>n.roles.includes("shard"));return r`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${s.map(n=>r`<th>${n.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
    <tbody>${e.shards.map(n=>r`<tr key=${n.id}><td>shard ${n.id}</td>${s.map(a=>{let[l,o,i]=As(n,a.name),d=`shard ${n.id} on ${a.name}: ${o}`;return r`<td class=${i} data-ui="shard-cell" title=${d}>${t&&l!=="\xB7"?r`<${Ms} letter=${l} says=${d} shard=${String(n.id)} node=${a.name} onDo=${t} />`:l}</td>`})}<td class="r opt">${b(n.lag)}</td><td class="r">${S(n.bytes)}</td><td><span class=${n.state==="ok"?"":"bad"}>${n.state}</span></td></tr>`)}</tbody></table></div>`}function Ms({letter:e,says:t,shard:s,node:n,onDo:a}){return r`<${V} button=${r`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${l=>{let o=(i,d)=>{l(),a(i,d)};return r`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>o("shard-move",{shard:s,from:n})}>Move to another node…</button>
      <button class="choice" data-ui="cell-rebuild" onClick=${()=>o("rebuild",{shard:s,node:n})}>Rebuild…</button>`}}<//>`}function As(e,t){return e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function Ns({operations:e,stores:t,may:s}){let{cancelling:n}=t.operations;return e.length===0?r`<p class="quiet none">No operation is running or stored.</p>`:r`<${C} latest=${n} what="Cancelling" /><ul class="ops">${e.map(a=>{let l=a.state==="running",o=a.total_bytes>0?a.done_bytes/a.total_bytes*100:0,i=[l?a.step:`${a.state} ${qs(a.ended??a.updated)}`,l&&a.total_bytes>0&&`${S(a.done_bytes)} of ${S(a.total_bytes)}`,l&&a.eta_seconds&&`${F(a.eta_seconds*1e3)} left`,a.reason,a.requested_by&&`requested by ${a.requested_by}`].filter(Boolean);return r`<li data-ui="operation" data-state=${a.state} key=${a.id}><h3>${yt(a)}${l&&s&&(a.cancel?r`<span class="text">being cancelled</span>`:r`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(a.id).then(()=>t.health.load())}>Cancel</button>`)}</h3>
      ${l&&a.total_bytes>0&&r`<div class="bar" style=${{"--p":`${o}%`}}></div>`}<p>${i.join(" \xB7 ")}</p></li>`})}</ul>`}function qs(e){return`${F(Math.max(0,Date.now()-Date.parse(e)))} ago`}function Tt(e,t,{schema:s,functions:n,fields:a=[]}){let l=e.slice(0,t).split(`
`),o=l[l.length-1];if(/(?:^|\s)#/.test(o))return null;if(js(l))return ze(o,t,n,a);let i=Ls(o);if(!i)return null;let u=[...Ws(l.slice(0,-1),o),...i.path].reduce((p,m)=>p.flatMap(f=>_t(f,m)),[s]),c=i.value?Dt(u):Ot(u,i.flow);return ge(c,i.typed,t)}function js(e){let t=-1;return e.forEach((s,n)=>{let a=s.length-s.trimStart().length,l=n===e.length-1;t>=0&&(s.trim()!==""||l)&&a<=t&&(t=-1);let o=t<0&&!l&&/^(\s*(?:- )?)(?:source|if)\s*:\s*[|>][-+]?\s*$/.exec(s);o&&(t=o[1].length)}),t>=0}function ze(e,t,s,n){let a=/(?:^|[^\w.)\]"'])\.([A-Za-z_@]\w*)?$/.exec(e);if(a&&!/^[^"]*("[^"]*"[^"]*)*"[^"]*$/.test(e))return Is(a[1]??"",t,n);let l=/(?:^|[^\w.%@"'])([a-z_]\w*)$/.exec(e)?.[1];if(!l||(e.match(/"/g)?.length??0)%2===1)return null;let o=s.map(i=>({insert:`${i.name}${i.fallible?"!":""}(`,text:i.name,note:i.fallible?"may fail":"",help:`${i.signature}
${i.help}`}));return ge(o,l,t)}function Is(e,t,s){let n=a=>/^[A-Za-z_@]\w*$/.test(a)?a:`"${a.replace(/[\\"]/g,"\\$&")}"`;return ge(s.map(a=>({insert:n(a),text:a,note:"field",help:"A field of the samples."})),e,t)}function Ls(e){let t=/"(?:[^"\\]|\\.)*("|$)|'(?:[^']|'')*('|$)|[{}[\],]|[A-Za-z_][\w-]*\s*:(?=\s|$)|[^\s{}[\],"']+/g,s=[],n="",a="",l=0;for(let d of e.matchAll(t)){let u=d[0];if(l=d.index+u.length,a="",/^["']/.test(u)){if(d[1]===""||d[2]==="")return null}else u==="{"||u==="["?(s.push({kind:u,key:n}),n=""):u==="}"||u==="]"?n=s.pop()?.key??"":u===","?n="":u.endsWith(":")?n=u.slice(0,-1).trim():a=u}(l<e.length||/^[-:]+$/.test(a))&&(a="");let o=s.length>0,i=s.flatMap(d=>d.kind==="{"?[d.key]:[d.key,"-"]).filter(d=>d!=="");return{path:n?[...i,n]:i,typed:a,value:n!==""||s[s.length-1]?.kind==="[",flow:o}}function Ws(e,t){let s=/^(\s*)((?:- +)*)/.exec(t),n=s?.[1].length??0,a=s?.[2].split("-").length??1,l=Array.from({length:a-1},()=>"-"),o=n,i=a>1;for(let d=e.length-1;d>=0&&(o>0||i);d--){let u=/^(\s*)((?:- +)*)(?:"?([\w.-]+)"?\s*:(?:\s|$))?/.exec(e[d]);if(!u||e[d].trim()===""||e[d].trim().startsWith("#"))continue;let c=u[1].length,p=c+u[2].length;u[3]&&p<o+(i&&u[2]===""?1:0)&&(l.unshift(u[3]),o=p,i=!1),u[2]!==""&&c<o&&(l.unshift("-"),o=c,i=!0)}return l}function _t(e,t){let s=t==="-"?e.items:e.properties?.[t];return[...s?[s]:[],...(e.anyOf??[]).flatMap(n=>_t(n,t))]}function Ot(e,t){return e.flatMap(s=>[...Object.entries(s.properties??{}).map(([n,a])=>({insert:`${n}:${!t&&a.properties?"":" "}`,text:n,note:[a.type??""].flat().join(", "),help:a.description??""})),...Ot(s.anyOf??[],t)])}function Dt(e){return e.flatMap(t=>{let s=t.enum??(t.type==="boolean"?[!0,!1]:[]),n=t.description??"";return[...s.map(a=>({insert:String(a),text:String(a),note:"",help:n})),...Dt(t.anyOf??[])]})}var Pt=21,Et=330;function Rt(e,t){let[s,n]=h(null),a=M(!1),l=M(!1),o=()=>{n(null),a.current=l.current=!1};function i(){let c=e.current;if(!t||!c||c.readOnly||c.selectionStart!==c.selectionEnd)return o();l.current=!0;let p=c.selectionStart,m=t(c.value,p),f=m&&(m.from<m.to||c.value[p-1]===".");return n(m&&(f||a.current)?{...m,at:-1}:null)}y(()=>{l.current&&i()},[t]);function d(c){let p=e.current,m=s?.list[c];!p||!s||!m||(o(),p.focus(),p.setSelectionRange(s.from,s.to),document.execCommand("insertText",!1,m.insert))}function u(c){if(c.key===" "&&c.ctrlKey&&t)return a.current=!0,i(),!0;if(!s)return c.key==="Escape"&&o(),!1;let p=c.key==="ArrowDown"?1:c.key==="ArrowUp"?-1:0,m=s.list.length;if(p!==0)n({...s,at:s.at<0?p>0?0:m-1:(s.at+p+m)%m});else if(c.key==="Tab"&&!c.shiftKey)d(Math.max(0,s.at));else if(c.key==="Enter"&&s.at>=0&&!c.ctrlKey)d(s.at);else if(c.key==="Escape")o();else return["ArrowLeft","ArrowRight","Home","End","Enter"].includes(c.key)&&o(),!1;return!0}return{shown:s,offer:i,key:u,take:d,close:o}}function Mt({area:e,completion:t}){let{shown:s,take:n}=t,a=M(null);y(()=>a.current?.querySelector("[aria-selected=true]")?.scrollIntoView({block:"nearest"}),[s?.at]);let l=e.current;if(!s||!l)return null;let o=s.list[Math.max(0,s.at)].help,[i,...d]=o.includes(`
`)?o.split(`
`):["",o];return r`<div class="completions" style=${zs(l,s.from)} data-ui="completions">
    <ul class="choices" id="completions" role="listbox" aria-label="Completions" ref=${a}>${s.list.map((u,c)=>r`<li id=${`completion-${c}`} role="option" aria-selected=${c===s.at} aria-describedby=${c===s.at?"completion-help":void 0}
          onMouseDown=${p=>(p.preventDefault(),n(c))}><span>${u.text}</span><small>${u.note}</small></li>`)}</ul>
    <div class="completion-help" id="completion-help">${i&&r`<code>${i}</code>`}${d.map(u=>r`<p>${u}</p>`)}<small><kbd>↓</kbd> choose, <kbd>Tab</kbd> take, <kbd>Esc</kbd> close</small></div>
  </div>`}function zs(e,t){let s=e.value.slice(0,t).split(`
`),n=e.getBoundingClientRect(),a=n.top+s.length*Pt,l=`clamp(8px, calc(${n.left+2}px + ${s[s.length-1].length}ch), calc(100vw - 348px))`;return a+Et<document.documentElement.clientHeight||a<Et?{left:l,top:`${a}px`}:{left:l,bottom:`${document.documentElement.clientHeight-a+Pt}px`}}function ae({text:e,onText:t,lines:s,marks:n,faults:a,wrong:l=null,label:o,readOnly:i,onReady:d,complete:u}){let c=M(null);ee(()=>{c.current&&d?.(c.current)},[]);let p=Rt(c,u),m=M(!1);function f($){if(p.key($))$.preventDefault(),$.stopPropagation();else if($.key==="Escape")m.current=!0;else if($.key==="Tab"&&!$.shiftKey&&!m.current&&!i)$.preventDefault(),document.execCommand("insertText",!1,"  ");else if($.key==="Enter"&&!$.ctrlKey&&!$.metaKey&&!$.isComposing&&!i){let g=$.currentTarget,T=g.value.slice(0,g.selectionStart),P=/^ */.exec(T.slice(T.lastIndexOf(`
`)+1))?.[0]??"";if(P==="")return;$.preventDefault(),document.execCommand("insertText",!1,`
${P}`)}else $.key!=="Shift"&&(m.current=!1)}let v=O(()=>{if(l===null)return null;let $=e.slice(0,l).split(`
`);return{line:$.length-1,column:$[$.length-1].length}},[e,l]);return r`<div class="codebox" onScroll=${p.close}><div class="code">
    <div class="gutter" aria-hidden="true">${s.map(($,g)=>r`<div class=${a?.has(g+1)?"bad":""}><span>${g+1}</span>${n&&r`<small>${n.get(g+1)}</small>`}</div>`)}</div>
    <div class="codetext"><div class="coloured-lines" aria-hidden="true">${s.map(($,g)=>r`<div class=${a?.has(g+1)?"bad":""}>${(v?.line===g?Fs($,v.column):$).map(T=>T.kind?r`<span class=${`c-${T.kind}`}>${T.text}</span>`:T.text)}${"\u200B"}</div>`)}</div>
    <textarea ref=${c} data-ui="editor" aria-label=${o} spellcheck=${!1} autocapitalize="off" autocomplete="off" wrap="off" value=${e} readOnly=${i}
      aria-invalid=${a&&a.size>0?"true":"false"} onKeyDown=${f} onBlur=${p.close} onPointerDown=${p.close}
      aria-autocomplete=${u?"list":void 0} aria-controls=${p.shown?"completions":void 0}
      aria-activedescendant=${p.shown&&p.shown.at>=0?`completion-${p.shown.at}`:void 0}
      onInput=${$=>{t($.currentTarget.value),p.offer()}}></textarea></div>
  </div><${Mt} area=${c} completion=${p} /></div>`}function Fs(e,t){let s=0;return e.map(n=>{let a=t>=s&&t<s+n.text.length;return s+=n.text.length,a?{...n,kind:`${n.kind} c-wrong`}:n})}function At(e,t){if(!e)return;let s=e.value.split(`
`).slice(0,t-1).join(`
`).length+(t>1?1:0);e.focus(),e.setSelectionRange(s,s),e.closest(".codebox")?.scrollTo({top:Math.max(0,(t-5)*21)})}function Nt(e,t){let[s,n]=[e.split(`
`),t.split(`
`)],a=0;for(;a<s.length&&a<n.length&&s[a]===n[a];)a++;let l=0;for(;l<s.length-a&&l<n.length-a&&s[s.length-1-l]===n[n.length-1-l];)l++;let o=[];for(let i=0;i<a;i++)o.push({kind:"same",text:s[i],before:i+1,after:i+1});o.push(...Bs(s.slice(a,s.length-l),n.slice(a,n.length-l),a));for(let i=l;i>0;i--)o.push({kind:"same",text:s[s.length-i],before:s.length-i+1,after:n.length-i+1});return o}function Bs(e,t,s){let n=t.length+1,a=new Uint32Array(e.length*t.length<=4e6?(e.length+1)*n:0);if(a.length>0)for(let d=e.length-1;d>=0;d--)for(let u=t.length-1;u>=0;u--)a[d*n+u]=e[d]===t[u]?a[(d+1)*n+u+1]+1:Math.max(a[(d+1)*n+u],a[d*n+u+1]);let l=[],[o,i]=[0,0];for(;o<e.length||i<t.length;)a.length>0&&o<e.length&&i<t.length&&e[o]===t[i]?l.push({kind:"same",text:e[o],before:s+ ++o,after:s+ ++i}):o<e.length&&(i>=t.length||a.length===0||a[(o+1)*n+i]>=a[o*n+i+1])?l.push({kind:"removed",text:e[o],before:s+ ++o,after:0}):l.push({kind:"added",text:t[i],before:0,after:s+ ++i});return l}function qt(e,t){let s=new Set;e.forEach((a,l)=>{if(a.kind!=="same")for(let o=l-t;o<=l+t;o++)s.add(o)});let n=[];return e.forEach((a,l)=>{s.has(l)?n.push(a):n[n.length-1]!==null&&n.push(null)}),n}var Us={same:" ",added:"+",removed:"\u2212"};function Te({before:e,after:t}){let s=O(()=>qt(Nt(e,t),3),[e,t]);return s.some(n=>n&&n.kind!=="same")?r`<div class="diff" data-ui="diff" tabindex="0" role="region" aria-label="What differs">${s.map(n=>n?r`<div class=${n.kind}><span>${n.before||""}</span><span>${n.after||""}</span><b>${Us[n.kind]}</b><code>${n.text}${"\u200B"}</code></div>`:r`<div class="left-out"><code>…</code></div>`)}</div>`:r`<p class="quiet none">Both texts are the same.</p>`}function jt({stores:e,info:t,onClose:s}){let{pipelines:n,place:a}=e,[l,o]=h(""),i=n.dry.value.value,d=n.stored.value.value;y(()=>{n.saving.error.value=null},[]);let u=n.name.value;async function c(f){f.preventDefault(),await n.save(l.trim())&&(s(),B(`Stored a new version of ${u}.`),a.set("pipelines",{name:u},{},{replace:!0}),await n.open(u,""))}let p=i?.records.filter(f=>f.outcome==="failed").length??0,m=n.saving.error.value?.status===412;return r`<${q} title=${`Save ${u}`} class="broad" onClose=${s}><form class="asks" onSubmit=${c}>
    <p class=${p>0?"wrong":"quiet"}>${n.dry.error.value?"The server refuses this text.":i?`Of ${b(i.records.length)} samples ${b(i.records.length-p)} are good, ${b(p)} fail.`:"It was not tried on samples."}</p>
    ${d?r`<${Te} before=${d.pipeline} after=${n.draft.value} />`:r`<p>The first version of ${u}.</p>`}
    <label>Note<input data-ui="note" maxlength="200" placeholder="What changes, and why" value=${l} onInput=${f=>o(f.currentTarget.value)} /></label>
    ${m?r`<p class="wrong" role="alert">A newer version was stored meanwhile. <button type="button" class="text go" onClick=${()=>{n.load().then(s)}}>Look at the versions</button></p>`:r`<${C} latest=${n.saving} what="Saving" />`}
    <p class="acts"><button class="button main" data-ui="save-now">${t?"Save as new version":"Save"}</button><button type="button" class="button" onClick=${s}>Cancel</button></p></form><//>`}var Vs={stored:"good",dropped:"drop",failed:"bad"};function Lt({samples:e,records:t,chosen:s,onChoose:n,onRemove:a}){return r`<ul class="samples">${e.map((l,o)=>{let i=t.find(d=>d.index===o);return r`<li class=${`${Vs[i?.outcome??""]??""} ${o===s?"on":""}`} data-ui="sample" data-outcome=${i?.outcome??""}>
      <button onClick=${()=>n(o)} aria-pressed=${o===s}><span>${D(l.slice(0,400))}</span><small>${Hs(i)}</small></button>
      <button class="text cut" aria-label=${`Remove sample ${o+1}`} onClick=${()=>a(o)}>✕</button></li>`})}</ul>`}function Hs(e){if(!e)return"";if(e.outcome==="stored")return`stored \u2192 ${[...new Set(e.rows.map(s=>s.table))].join(", ")}`;if(e.outcome==="failed")return`failed at ${e.error?.step??""}`;let t=e.steps?.[e.steps.length-1];return`dropped${t?` by ${t.step}`:""}`}function Wt({record:e,lines:t,onLine:s}){let[n,a]=h(!0),l=e.steps??[],o=e.error,i=e.input;return r`<label class="only-changes"><input type="checkbox" checked=${n} onChange=${()=>a(!n)} /> only changes</label>
    <ol class="trace">
    <li data-ui="step" data-outcome="input"><h3>record</h3>${Object.entries(e.input).map(([d,u])=>r`<${J} name=${d} value=${u} />`)}</li>
    ${l.map(d=>{let u=i;return i=d.record,r`<${Ks} step=${d} from=${u} line=${It(d,t)} onlyChanges=${n} onLine=${s} />`})}
    ${o&&r`<${Fe} error=${o} line=${It(o,t)} onLine=${s} />`}
    ${e.outcome==="dropped"&&r`<li class="none" data-ui="step" data-outcome="dropped"><h3>dropped</h3>The record is not stored.</li>`}
  </ol>`}function It({pipeline:e,step:t,line:s},n){return e?0:s??Js(t,n)}function Js(e,t){let s=/^processors\[(\d+)\]/.exec(e);return s?t[Number(s[1])]??0:0}function Ks({step:e,from:t,line:s,onlyChanges:n,onLine:a}){let l=e.added.length+e.changed.length+e.removed.length>0,o=Object.keys(e.record).filter(i=>!e.added.includes(i)&&!e.changed.includes(i));return r`<li data-ui="step" data-outcome="ok"><h3><${zt} step=${e} /><small>${s>0&&r`<button class="text" onClick=${()=>a(s)}>line ${s}</button>`}${(e.took_us??0)>0&&` \xB7 ${e.took_us} \xB5s`}</small></h3>
    ${e.added.map(i=>r`<${J} look="add" name=${i} value=${e.record[i]} />`)}
    ${e.changed.map(i=>r`<${J} look="change" name=${i} value=${e.record[i]} old=${t[i]} />`)}
    ${e.removed.map(i=>r`<${J} look="cut" name=${i} value=${t[i]} />`)}
    ${!l&&r`<span class="quiet">nothing changed</span>`}
    ${!n&&o.map(i=>r`<${J} name=${i} value=${e.record[i]} />`)}</li>`}function zt({step:{pipeline:e,step:t,line:s}}){let n=t.replace(/^processors\[\d+\] /,""),a=/^dispatcher: to (.+)$/.exec(t)?.[1],l=o=>r`<a class="go" data-ui="other-pipeline" href=${_("pipelines",{name:o})}>${o}</a>`;return a?r`goes on in the pipeline ${l(a)}`:e?r`${n}<span class="quiet">in ${l(e)}${s&&`, line ${s}`}</span>`:n}function J({look:e="",name:t,value:s,old:n}){let a=D(Z(s).slice(0,2e3));return r`<p class=${e}><b title=${t}>${t}</b><span title=${a.slice(0,500)}>${n!==void 0&&r`<s>${D(Z(n).slice(0,200))}</s> → `}${a===""?"\u201C\u201D":a}</span></p>`}function Fe({error:e,line:t,onLine:s}){return r`<li class="bad" data-ui="step" data-outcome="failed"><h3><${zt} step=${e} /><small>${t>0&&r`<button class="text" onClick=${()=>s(t)}>line ${t}</button>`}</small></h3>
    <div class="why">${e.field&&r`Field <code>${e.field}</code>: `}${D(e.reason)}${e.value&&r`<br /><code>${Zs(e)}</code>`}</div></li>`}function Zs({value:e,offset:t,reason:s}){let n=e.replace(/^"(.*)"$/s,"$1"),a=t??Number(/at (?:byte|position|offset) (\d+)/.exec(s)?.[1]??-1);return a<0?D(n):r`${D(n.slice(0,a))}<u>${D(n.slice(a,a+1))||"\xA0"}</u>${D(n.slice(a+1))}`}function Ft({answer:e}){let[t,s]=h(""),n=e.tables.find(l=>l.table_name===t)??e.tables[0],a=l=>e.records.filter(o=>o.outcome===l).length;return r`<div class="head"><h2>What would be stored</h2><div class="tabs" role="group" aria-label="Tables">${e.tables.map(l=>r`<button class="text" aria-pressed=${l===n} onClick=${()=>s(l.table_name)}>${l.table_name}<small>${b(l.rows.length)}${l.exists===!1?", a new table":""}${Gs(l)}</small></button>`)}</div><span class="grow"></span><span class="quiet wide">${b(a("stored"))} stored, ${b(a("dropped"))} dropped, ${b(a("failed"))} failed</span></div>
    ${n?r`<${Ys} table=${n} />`:r`<p class="quiet none">No sample would be stored.</p>`}`}function Gs({options:e}){return Object.entries(e??{}).filter(([s,n])=>s!=="append_mode"||n!=="true").map(([s,n])=>`, ${s} ${n}`).join("")}function Ys({table:e}){let t=[e.refused,(e.different_options??[]).length>0&&`The table has these options already, and keeps them: ${e.different_options?.join(", ")}.`].filter(Boolean);return r`${t.map(s=>r`<p class="wrong none">${s}</p>`)}
    <div class="storedrows" tabindex="0" role="region" aria-label=${`Rows of ${e.table_name}`}><table><thead><tr>${e.schema.map(s=>r`<th data-ui="stored-column">${s.name}<small>${s.data_type.toLowerCase().replace("timestamp_","timestamp, ")}${s.column_type==="TIMESTAMP"?" \xB7 time index":s.column_type==="TAG"?" \xB7 tag":""}${s.index?` \xB7 ${s.index}`:s.fulltext?" \xB7 fulltext":""}</small>
        ${e.exists&&e.new_columns?.includes(s.name)&&r`<span class="tag new">new</span>`}</th>`)}</tr></thead><tbody>${e.rows.map(s=>r`<tr>${e.schema.map(n=>{let a=s.find(l=>l.key===n.name)?.value??null;return r`<td class=${a===null?"nul":typeof a=="number"&&n.column_type!=="TIMESTAMP"?"num":""}>${a===null?"null":D(Qs(a,n.data_type).slice(0,200))}</td>`})}</tr>`)}</tbody></table></div>`}var Xs={SECOND:1,MILLISECOND:1e3,MICROSECOND:1e6,NANOSECOND:1e9};function Qs(e,t){let s=Xs[t.replace("TIMESTAMP_","")];if(!t.startsWith("TIMESTAMP")||!s)return Z(e);let n=new Date(Number(e)/s*1e3);return Number.isNaN(n.getTime())?String(e):n.toISOString().replace("T"," ").replace("Z","")}var ea=150;function Ut({stores:e,info:t}){let{pipelines:s,signIn:n,keys:a}=e,l=s.draft.value,o=s.samples.value,[i,d]=h(0),[u,c]=h(!1),p=M(null),m=e.place.here.value.params.get("t")??"";y(()=>{let x=setTimeout(()=>{s.test(m)},ea);return()=>clearTimeout(x)},[l,o,m]),y(()=>a.bind({"ctrl+Enter":["test now",()=>{s.test(m)}],"ctrl+s":["save",()=>c(!0)]}),[a,m]),y(s.loadHelps,[s]);let f=s.helps.value.value,v=s.knownFields.value,$=O(()=>(z,R)=>f?Tt(z,R,{...f,fields:v}):null,[f,v]),g=s.dry.value.value,T=s.faults.value,P=O(()=>pt(l),[l]),E=g?.records.find(x=>x.index===i),k=x=>At(p.current,x);return r`<${ta} stores=${e} info=${t} onSave=${()=>c(!0)} />
    <div class="pipe">
      <section class="pane" aria-label="Text"><div class="head"><h2>${s.name.value}.yaml</h2><${sa} stores=${e} /></div>
        <${ae} label="Text of the pipeline" text=${l} lines=${O(()=>dt(l),[l])} marks=${na(g,P)}
          faults=${new Map(T.map(x=>[x.line,x.message]))} onText=${x=>s.draft.value=x}
          complete=${$} readOnly=${!n.canManage.value} onReady=${x=>p.current=x} />
        <${aa} stores=${e} onLine=${k} /></section>
      <section class="pane samplepane" aria-label="Samples" onDragOver=${x=>x.preventDefault()} onDrop=${x=>{x.preventDefault(),Vt(s,x.dataTransfer?.files)}}><div class="head"><h2>${b(o.length)} ${o.length===1?"sample":"samples"}</h2><span class="grow"></span><${oa} stores=${e} /></div>
        ${o.length===0?r`<p class="quiet none">Paste some lines or records, or drop a file: each step is shown for each sample. They stay in this browser.</p>`:r`<${Lt} samples=${o} records=${g?.records??[]} chosen=${i} onChoose=${d}
              onRemove=${x=>s.setSamples(o.filter((z,R)=>R!==x))} />`}</section>
      <section class="pane" aria-label="Trace"><div class="head"><h2>Trace${E?` of sample ${i+1}`:""}</h2></div>
        <div class="scrolled">${E?r`<${Wt} record=${E} lines=${P} onLine=${k} />`:r`<p class="quiet none">${o.length===0?"There are no samples.":"No step was run."}</p>`}</div></section>
      <section class="pane store" aria-label="What would be stored">${g?r`<${Ft} answer=${g} />`:r`<div class="head"><h2>What would be stored</h2></div>`}</section>
    </div>
    ${u&&r`<${jt} stores=${e} info=${t} onClose=${()=>c(!1)} />`}`}function ta({stores:e,info:t,onSave:s}){let{pipelines:n,signIn:a}=e,l=n.name.value,o=n.stored.value.value?.version,i=t?.version===o;return r`<div class="title"><a class="quiet" href="/dashboard/pipelines">Pipelines</a><span class="quiet">/</span><h1>${l}</h1>
    ${o&&r`<span class="tag">${o.slice(0,19)}${t&&(i?`, newest of ${b(t.versions.length)}`:", not the newest")}</span>`}
    ${n.changed.value&&r`<span class="tag new">not saved</span>`}<span class="grow"></span>
    ${t&&r`<a class="button" href=${_("pipelines",{name:l,view:"versions"})}>Versions</a><a class="button" href=${_("pipelines",{name:l,view:"diff"})}>Diff</a>
      <a class="button wide" href=${_("rejects",{pipeline:l})}>Rejects</a>`}
    ${a.canManage.value&&r`<button class="button main" data-ui="save" disabled=${!n.changed.value} onClick=${s}>Save as new version</button>`}</div>`}function sa({stores:e}){let{dry:t,tested:s}=e.pipelines,n=$e(1e3);return t.since.value>0&&n-t.since.value>500?r`<span class="quiet">testing…</span>`:t.error.value?r`<span class="wrong">cannot be built</span>`:t.value.value?r`<span class="quiet" role="status">tested ${F(Math.max(0,n-s.value))} ago, in ${F(t.value.value.execution_time_ms)}</span>`:null}function aa({stores:e,onLine:t}){let{dry:s,faults:n}=e.pipelines,a=s.error.value;return a?r`<div class="faults" role="alert" data-ui="fault">${n.value.length===0?r`<p>${a.message}</p>`:n.value.map(l=>r`<div><button class="text go" onClick=${()=>t(l.line)}>line ${l.line}</button><pre>${l.message}</pre></div>`)}</div>`:null}function na(e,t){let s=new Map;return e&&t.forEach((n,a)=>{let l=u=>u.startsWith(`processors[${a}] `),o=e.records.filter(u=>u.steps?.some(c=>c.pipeline===""&&l(c.step))).length,i=e.records.filter(u=>u.outcome==="failed"&&u.error&&l(u.error.step)).length,d=e.records.filter(u=>u.outcome==="dropped"&&l(u.steps?.[u.steps.length-1]?.step??"")).length;o+i!==0&&s.set(n,r`✓ ${o}${i>0&&r` <i>✗ ${i}</i>`}${d>0&&r` <u>⊘ ${d}</u>`}`)}),s}var Bt=1<<20;async function Vt(e,t){let s=await t?.[0]?.slice(0,Bt).text();s&&e.setSamples(s.split(/\r?\n/).slice(0,t&&t[0].size>Bt?-1:void 0))}function oa({stores:e}){let{pipelines:t,tables:s}=e,[n,a]=h(!1),[l,o]=h(""),i=d=>d.then(u=>u===0&&B("There are none.")).catch(u=>B(u.message));return r`<${V} button=${r`<span>From…</span>`} label="Take samples from" class="text change">${d=>r`
      <button class="choice" onClick=${()=>(d(),i(t.samplesFromRejects()))}>Rejected records of this pipeline</button>
      ${s.all.value.filter(u=>u.db!=="svc_private").slice(0,50).map(u=>r`<button class="choice" onClick=${()=>(d(),i(t.samplesFromTable(u.db,u.name)))}><span>newest rows of ${u.name}</span></button>`)}`}<//>
    <label class="text pick-file" title="Takes the first 100 lines">File<input class="hidden" type="file" data-ui="samples-file" onChange=${d=>Vt(t,d.currentTarget.files)} /></label>
    <button class="text" data-ui="paste" onClick=${()=>(o(t.samples.value.join(`
`)),a(!0))}>Paste</button>
    ${n&&r`<${q} title="Samples, one on each line" onClose=${()=>a(!1)}><form class="asks" onSubmit=${d=>{d.preventDefault(),t.setSamples(l.split(`
`)),a(!1)}}><p class="quiet">Lines of a log, or objects of JSON; at most 100.</p>
        <textarea class="paste" data-ui="samples-text" aria-label="Samples" rows="12" value=${l} onInput=${d=>o(d.currentTarget.value)}></textarea>
        <p class="acts"><button class="button main" data-ui="take-samples">Take them</button><button type="button" class="button" onClick=${()=>a(!1)}>Cancel</button></p></form><//>`}`}var ne={dissect:{name:"dissect",pattern:'%{client} - %{user} [%{at}] "%{method} %{path} %{}" %{status} %{bytes}',line:'10.1.2.3 - ann [05/Jan/2026:10:11:12 +0100] "GET /cart HTTP/2" 200 5210'},grok:{name:"grok",pattern:"%{IP:client} %{WORD:method} %{URIPATH:path} %{NUMBER:took:float}",line:"10.1.2.3 GET /cart 12.5"},regex:{name:"regex",pattern:"(?<user>\\w+) logged in from (?<client>[\\d.]+)",line:"ann logged in from 10.1.2.3"},date:{name:"date format",pattern:"%d/%b/%Y:%H:%M:%S %z",line:"05/Jan/2026:10:11:12 +0100"}};function Ht(e,t){let s=e==="date"?{field:"message",formats:[t]}:{field:"message",patterns:[t]};return JSON.stringify({version:2,processors:[{[e]:s}]})}function Jt(e){return JSON.stringify({version:2,processors:[{vrl:{source:e}}]})}function Kt(e,t){let s=[];for(let[l,o]of[...t].sort((i,d)=>d[1].length-i[1].length)){let i=o===""?-1:e.indexOf(o);for(;i>=0&&s.some(d=>i<d.to&&i+o.length>d.from);)i=e.indexOf(o,i+1);i>=0&&s.push({from:i,to:i+o.length,name:l})}let n=[],a=0;for(let{from:l,to:o,name:i}of s.sort((d,u)=>d.from-u.from))l>a&&n.push({text:e.slice(a,l),name:""}),n.push({text:e.slice(l,o),name:i}),a=o;return a<e.length&&n.push({text:e.slice(a),name:""}),n}var ra=150;function Zt({stores:e}){return r`<div class="scrolled"><div class="state"><h1>Try a pattern or a program</h1><span class="quiet">Nothing is stored.</span><span class="grow"></span><a class="button" href="/dashboard/pipelines">Pipelines</a></div>
    <${la} pipelines=${e.pipelines} /><${ia} pipelines=${e.pipelines} /></div>`}function Gt(e,t,s){let[n]=h(()=>L(W));return y(()=>{let a=setTimeout(()=>s.trim()!==""&&void n.run(l=>e.dryRun({pipeline:t,lines:[s]},l)),ra);return()=>clearTimeout(a)},[t,s]),n}function la({pipelines:e}){let[t,s]=h("dissect"),[n,a]=h(ne.dissect.pattern),[l,o]=h(ne.dissect.line),i=Gt(e,Ht(t,n),l),d=m=>{s(m),a(ne[m].pattern),o(ne[m].line)},c=i.value.value?.records[0]?.steps?.[0],p=c?[...c.added,...c.changed].map(m=>[m,Z(c.record[m])]):[];return r`<section class="tryout" aria-label="Pattern"><h2 class="head">Pattern</h2>
    <div class="asks"><p class="orders" role="group" aria-label="Kind of pattern">${Object.entries(ne).map(([m,{name:f}])=>r`<button type="button" class="text" data-ui=${`try-${m}`} aria-pressed=${m===t} onClick=${()=>d(m)}>${f}</button>`)}</p>
      <label>Pattern<input data-ui="try-pattern" spellcheck=${!1} value=${n} onInput=${m=>a(Be(m))} /></label>
      <label>Line<input data-ui="try-line" spellcheck=${!1} value=${l} onInput=${m=>o(Be(m))} /></label>
      <${Yt} latest=${i} />
      ${p.length>0&&!i.error.value&&r`<p class="captured mono" data-ui="captured">${Kt(l,p).map((m,f)=>m.name?r`<mark class=${`part-${f%2}`} title=${m.name}>${m.text}</mark>`:m.text)}</p>
        <div class="trace">${p.map(([m,f])=>r`<${J} look="add" name=${m} value=${f} />`)}</div>`}</div></section>`}function ia({pipelines:e}){let[t,s]=h('{"message": "took 12.5 ms", "status": "502"}'),[n,a]=h(`.status = to_int!(.status)
.failed = .status >= 500
.took = to_float!(parse_regex!(.message, r'(?<ms>[0-9.]+) ms').ms)
.`),l=Gt(e,Jt(n),t);y(e.loadHelps,[e]);let o=e.helps.value.value?.functions,i=l.value.value?.records[0],d=i?.steps?.[0],u=O(()=>{let c=Object.keys(i?.input??{});return(m,f)=>o?ze(m.slice(0,f).split(`
`).pop()??"",f,o,c):null},[o,i]);return r`<section class="tryout" aria-label="VRL program"><h2 class="head">VRL program</h2>
    <div class="asks"><label>Record: an object of JSON, or a line<input data-ui="try-record" spellcheck=${!1} value=${t} onInput=${c=>s(Be(c))} /></label>
      <div class="program"><${ae} label="Program" text=${n} lines=${O(()=>ut(n),[n])} onText=${a} complete=${u} /></div>
      <${Yt} latest=${l} />
      ${d&&!l.error.value&&r`<div class="trace" data-ui="program-result">
          ${Object.keys(d.record).map(c=>{let p=d.added.includes(c)?"add":d.changed.includes(c)?"change":"";return r`<${J} look=${p} name=${c} value=${d.record[c]} old=${p==="change"?i?.input[c]:void 0} />`})}
          ${d.removed.map(c=>r`<${J} look="cut" name=${c} value=${i?.input[c]} />`)}</div>`}</div></section>`}function Yt({latest:e}){let t=e.error.value;if(t)return r`<div class="faults" role="alert" data-ui="fault"><pre>${t.message}</pre></div>`;let s=e.value.value?.records[0];return s?.error?r`<ol class="trace"><${Fe} error=${s.error} line=${0} onLine=${()=>{}} /></ol>`:s?.outcome==="dropped"?r`<p class="quiet">The record is dropped.</p>`:null}function Be(e){return e.currentTarget.value}var Ue=[{name:"nginx, Apache: access log",sample:'10.1.2.3 - ann [05/Jan/2026:10:11:12 +0100] "GET /cart?id=7 HTTP/1.1" 200 5316 "-" "Mozilla/5.0"',text:`version: 2
processors:
  - dissect:
      field: message
      pattern: '%{client} - %{user} [%{at}] "%{method} %{path} %{protocol}" %{status} %{bytes} "%{referer}" "%{agent}"'
  - date: {field: at, formats: ['%d/%b/%Y:%H:%M:%S %z']}
  - select: {type: exclude, field: message}
transform:
  - {field: at, type: timestamp, index: timestamp}
  - {fields: [status, bytes], type: int64, on_failure: ignore}
`},{name:"JSON, changed by a program",sample:'{"time":"2026-01-05T10:00:00.25Z","level":"info","http":{"method":"GET","status":200},"took_ms":3.5}',text:`version: 2
processors:
  - date: {field: time}
  - vrl:
      source: |
        .severity = downcase(string(del(.level)) ?? "info")
        if is_float(.took_ms) { .took = float!(del(.took_ms)) / 1000.0 }
        del(.password)
        .
transform:
  - {field: time, type: timestamp, index: timestamp}
  - {field: severity, type: string, index: inverted}
`},{name:"syslog",sample:'<34>1 2026-01-05T10:00:00.003Z web1 su 77 ID47 [meta seq="9"] su root failed for ann',text:`version: 2
processors:
  - syslog: {field: message, timezone: UTC}
transform:
  - {field: "timestamp, at", type: timestamp, index: timestamp, on_failure: default}
  - {fields: [hostname, appname], type: string, tag: true}
  - {field: message, type: string, index: fulltext}
`},{name:"OpenSSH",sample:"Dec 10 06:55:48 LabSZ sshd[24200]: Failed password for invalid user webmaster from 173.234.31.186 port 38926 ssh2",text:`version: 2
processors:
  - syslog: {field: message, format: rfc3164}
  - grok:
      field: message
      ignore_no_match: true
      patterns:
        - '(?<event>Accepted|Failed) %{WORD:method} for (?:invalid user )?%{NOTSPACE:user} from %{IP:ip} port %{INT:port:int}'
        - '(?<event>Invalid user) %{NOTSPACE:user} from %{IP:ip}'
  - letter: {field: event, method: lower, ignore_missing: true}
transform:
  - {field: "timestamp, at", type: timestamp, index: timestamp}
  - {fields: [hostname, appname], type: string, tag: true}
  - {field: ip, type: string, index: skipping}
`},{name:"Apache: error log",sample:"[Sun Dec 04 04:51:08 2005] [error] [client 10.0.0.9] File does not exist: /var/www/favicon.ico",text:`version: 2
processors:
  - dissect:
      field: message
      patterns:
        - '[%{at}] [%{level}] [client %{client}] %{text}'
        - '[%{at}] [%{level}] %{text}'
  - date: {field: at, formats: ['%a %b %d %H:%M:%S %Y', '%a %b %d %H:%M:%S%.f %Y'], timezone: Europe/Berlin}
  - select: {type: exclude, field: message}
transform:
  - {field: at, type: timestamp, index: timestamp}
  - {field: text, type: string, index: fulltext}
`}];function Xt({stores:e,info:t,diff:s}){let{pipelines:n,place:a,signIn:l}=e,[o]=h(()=>L(W)),i=a.here.value.params,d=i.get("name")??"",u=t?.versions??[],c=i.get("version")||u[0]?.version||"",p=i.get("with")||u[Math.min(u.findIndex($=>$.version===c)+1,u.length-1)]?.version||"";y(()=>{!c||!p||o.run($=>Promise.all([n.readVersion(d,p,$),n.readVersion(d,c,$)]).then(([g,T])=>[g.pipeline,T.pipeline]))},[d,p,c]);let m=$=>a.set("pipelines",{name:d,view:"diff",version:c,with:p,...$});async function f(){let $=await n.readVersion(d,c);await n.open(d,""),n.draft.value=$.pipeline,a.set("pipelines",{name:d})}let v=o.value.value;return r`<div class="title"><a class="quiet" href="/dashboard/pipelines">Pipelines</a><span class="quiet">/</span><h1><a href=${_("pipelines",{name:d})}>${d}</a></h1><span class="quiet">${b(u.length)} versions</span><span class="grow"></span>
      ${l.canManage.value&&c!==u[0]?.version&&r`<button class="button" data-ui="restore" onClick=${f}>Restore ${c.slice(0,23)}</button>`}
      <a class="button" href=${_("pipelines",{name:d})}>Back to the text</a></div>
    <${N} since=${o.since.value} onCancel=${o.cancel} />
    <div class=${`versions ${s?"with-diff":""}`}>
      <section class="pane" aria-label="Versions"><div class="head"><h2>Versions</h2><span class="quiet">times are in UTC</span></div>
        <ul class="ops">${u.map(($,g)=>r`<li data-ui="version" class=${$.version===c?"on":""}><h3><button class="text" onClick=${()=>m({version:$.version,with:u[Math.min(g+1,u.length-1)].version})}>${$.version.slice(0,23)}${g===0?", newest":""}</button></h3>
            <p>${$.note??""}${$.note?" \xB7 ":""}${$.by?`by ${$.by} \xB7 `:""}${S($.size)} · <button class="text go" aria-label=${`compare with this, ${$.version.slice(0,23)}`} onClick=${()=>m({with:$.version})}>compare with this</button></p></li>`)}</ul></section>
      <section class="pane" aria-label="Difference"><div class="head"><h2>${p.slice(0,23)} → ${c.slice(0,23)}</h2></div>
        <${C} latest=${o} what="Reading the versions" />
        ${v&&r`<div class="scrolled"><${Te} before=${v[0]} after=${v[1]} /></div>`}</section></div>`}function Qt({stores:e}){let{pipelines:t,place:s}=e,[n,a]=h(""),[l,o]=h(0),d=t.list.value.value?.some(c=>c.name===n)?"A pipeline has this name.":n.startsWith("svc_")?"Names that begin with svc_ belong to the server.":"";function u(c){if(c.preventDefault(),d||!n)return;let{text:p,sample:m}=Ue[l];t.name.value=n,t.stored.value.value=null,t.draft.value=p,t.setSamples([m]),s.set("pipelines",{name:n,view:"new"},{},{replace:!0})}return r`<div class="scrolled"><div class="state"><h1>New pipeline</h1></div>
    <form class="asks begin" onSubmit=${u}>
      <label>Name<input data-ui="new-name" required pattern="[A-Za-z0-9_.:\\-]{1,128}" value=${n} onInput=${c=>a(c.currentTarget.value)} /></label>
      ${d&&r`<p class="wrong" role="alert">${d}</p>`}
      <fieldset><legend>Begin with</legend>${Ue.map((c,p)=>r`<label class="template"><input type="radio" name="template" checked=${p===l} onChange=${()=>o(p)} /><span>${c.name}<code>${c.sample}</code></span></label>`)}</fieldset>
      <p class="acts"><button class="button main" data-ui="begin">Begin</button><a class="button" href="/dashboard/pipelines">Cancel</a></p></form></div>`}function ca({stores:e}){let{pipelines:t,place:s}=e,n=s.here.value.params,[a,l,o]=[n.get("name")??"",n.get("version")??"",n.get("view")??""];y(()=>{document.title=a?`${a} \xB7 pipelines \xB7 cordwood`:"Pipelines \xB7 cordwood"},[a]),y(()=>{t.load()},[t]);let i=t.list.value.value,d=o==="new";if(y(()=>{!a||d||t.name.value===a&&t.changed.value&&!l||t.open(a,l)},[a,l,d]),!a&&o==="try")return r`<${Zt} stores=${e} />`;if(!a&&d)return r`<${Qt} stores=${e} />`;if(!a)return r`<${da} stores=${e} />`;let u=i?.find(c=>c.name===a);return o==="versions"||o==="diff"?r`<${Xt} stores=${e} info=${u} diff=${o==="diff"} />`:t.stored.error.value&&!d?r`<h1 class="hidden">${a}</h1><${C} latest=${t.stored} what=${`Reading the pipeline ${a}`} />`:r`<${N} since=${t.stored.since.value} onCancel=${t.stored.cancel} /><${Ut} stores=${e} info=${u} />`}function da({stores:e}){let{pipelines:t,signIn:s}=e,n=t.list.value.value,[a]=h(()=>L(W));y(()=>{a.run(o=>e.rejects.countByPipeline(o))},[]);let l=a.value.value;return r`<div class="scrolled"><div class="state"><h1>Pipelines</h1><span class="quiet">Pipelines turn records into rows. Each change is a new version.</span><span class="grow"></span><a class="button" data-ui="try" href="/dashboard/pipelines?view=try">Try a pattern</a>
      ${s.canManage.value&&r`<a class="button main" data-ui="new-pipeline" href="/dashboard/pipelines?view=new">New pipeline</a>`}</div>
    <${C} latest=${t.list} what="Asking for the pipelines" />
    ${n?.length===0&&r`<${U} title="You have no pipelines yet."><p>Records are stored unchanged by <b class="mono">svc_identity</b>, which needs none.</p><//>`}
    ${n&&n.length>0&&r`<div class="wide-table listed"><table><thead><tr><th>name</th><th>newest version, UTC</th><th class="opt">by</th><th>note</th><th class="r">versions</th><th class="r opt">size</th><th class="r">rejects of 24 h</th></tr></thead>
      <tbody>${n.map(o=>r`<tr data-ui="pipeline"><td><a class="go" href=${_("pipelines",{name:o.name})}>${o.name}</a></td><td>${o.version.slice(0,19)}</td><td class="opt">${o.by??""}</td>
          <td class="samples">${o.note??""}</td><td class="r">${b(o.versions.length)}</td><td class="r opt">${S(o.versions[0]?.size??0)}</td>
          <td class="r">${l?.get(o.name)?r`<a class="bad" href=${_("rejects",{pipeline:o.name})}>${b(l.get(o.name)??0)}</a>`:"0"}</td></tr>`)}</tbody></table></div>`}</div>`}function ua({stores:e}){let{rejects:t,place:s,prefs:n,signIn:a}=e,l=s.here.value.params,o={pipeline:l.get("pipeline")??"",table:l.get("t")??"",kind:l.get("kind")??"",from:l.get("from")??"",to:l.get("to")??""},i=JSON.stringify(o),[d,u]=h(!1);y(()=>{document.title="Rejects \xB7 cordwood",t.load(o)},[i]);let c=$=>s.set("rejects",{pipeline:o.pipeline,t:o.table,kind:o.kind,from:o.from,to:o.to,...$}),p=t.reasons.value.value,m=t.samples.value.value??[],f=p?.list.reduce(($,g)=>$+g.count,0)??0,v=[["pipeline",o.pipeline,{pipeline:""}],["table",o.table,{t:""}],["kind",o.kind,{kind:""}],["from",o.from&&I(o.from,n.zone.value),{from:"",to:""}]];return r`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${p&&`${b(f)} records that could not be stored; they are kept for 7 days`}</span><span class="grow"></span>
      ${v.map(([$,g,T])=>g&&r`<button class="button" aria-label=${`Remove the condition ${$} ${g}`} onClick=${()=>c(T)}>${$} ${g} ✕</button>`)}
      ${o.pipeline&&r`<a class="button" href=${_("pipelines",{name:o.pipeline})}>Fix in pipeline</a>`}
      ${f>0&&a.canManage.value&&r`<button class="button main" data-ui="replay" onClick=${()=>u(!0)}>Replay…</button>`}</div>
    <${N} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
    <${C} latest=${t.reasons} what="Counting the rejects" />
    ${p&&f===0&&r`<${ma} there=${p.there} />`}
    ${f>0&&r`<${pa} rejects=${t} zone=${n.zone.value} onZoom=${($,g)=>c({from:$,to:g})} />
      <h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${n.zone.value}</th></tr></thead>
      <tbody>${p?.list.map($=>r`<tr data-ui="reason"><td class="r">${b($.count)}</td><td class="samples" title=${$.reason}>${D($.reason.slice(0,300))}</td>
          <td><button class="text" onClick=${()=>c({kind:$.kind})}>${$.kind}</button></td><td><button class="text" onClick=${()=>c({pipeline:$.pipeline})}>${$.pipeline}</button></td>
          <td><button class="text" onClick=${()=>c({t:$.table})}>${$.table}</button></td><td class="opt">${I($.last,n.zone.value)}</td></tr>`)}</tbody></table></div>
      <h2 class="head">The newest<span class="quiet">${b(m.length)}</span><span class="grow"></span>
        <a class="text go" href=${_("explore",{db:"svc_private",t:"rejects",q:o.pipeline?`pipeline=${o.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
      <${ye} stores=${e} rejects=${m.slice(0,50)} />`}
    ${d&&r`<${$a} stores=${e} wanted=${o} count=${f} onClose=${()=>u(!1)} />`}</div>`}function pa({rejects:e,zone:t,onZoom:s}){let n=e.overTime.value.value;return n?r`<p class="legend overtime">${n.series.map((a,l)=>r`<span><i style=${{background:le(a.value,l,!1)}}></i>${a.value}<b>${b(a.counts.reduce((o,i)=>o+i,0))}</b></span>`)}</p>
    <${nt} hits=${n} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${s} />`:r`<${C} latest=${e.overTime} what="Counting over time" />`}function ma({there:e}){return e?r`<${U} title="No record was rejected."><p>In the last 7 days, with these conditions.</p><//>`:r`<${U} title="The server keeps no rejected records.">
    <p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
    <p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function $a({stores:e,wanted:t,count:s,onClose:n}){let{rejects:a}=e,[l,o]=h({toPipeline:"",toTable:""}),i=a.replay.value,d=i!==null&&!i.end;ee(()=>(a.replay.value=null,()=>a.cancel()),[]);let u=i?.end&&i.dry&&!i.error,c=(p,m,f)=>r`<label>${m}<input value=${l[p]} placeholder=${f} onInput=${v=>o({...l,[p]:v.currentTarget.value.trim()})} /></label>`;return r`<${q} title=${`Replay ${b(s)} rejects`} onClose=${n}><div class="asks">
    <p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
    ${c("toPipeline","Pipeline","the one that they were sent to")}${c("toTable","Table","the one that they were sent to")}
    ${i&&r`<p role="status" class=${i.failed>0?"wrong":""}>${i.dry?`${b(i.stored)} of ${b(i.of||i.done)} would be stored.`:`${b(i.stored)} stored, ${b(i.failed)} failed again, of ${b(i.of||i.done)}.`} ${i.error}</p>
      <div class="bar" style=${{"--p":`${i.of>0?i.done/i.of*100:0}%`}}></div>
      ${(i.reasons??[]).slice(0,5).map(p=>r`<p class="wrong">${typeof p=="string"?p:`${b(p.count)} \xD7 ${p.reason}`}</p>`)}`}
    <p class="acts"><button class=${`button ${u?"":"main"}`} data-ui="replay-try" disabled=${d} onClick=${()=>{a.send({...t,...l},!0)}}>Try it first</button>
      <button class=${`button ${u?"main":""}`} data-ui="replay-now" disabled=${d} onClick=${()=>{a.send({...t,...l},!1).then(()=>a.load(t))}}>Replay</button>
      ${d&&r`<button class="button" data-ui="cancel" onClick=${a.cancel}>Stop</button>`}
      <button class="button" onClick=${n}>Close</button></p></div><//>`}function fa({stores:e}){let{prefs:t,signIn:s}=e;y(()=>{document.title="Settings \xB7 cordwood"},[]);let n=s.session.value;return r`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">This browser keeps the choices in the first part.</span></div>
    <section aria-label="This browser"><h2 class="head">This browser</h2>
      <${_e} label="Theme" value=${t.theme} choices=${{system:"As the system has it",light:"Light",dark:"Dark"}} />
      <${_e} label="Times" value=${t.zone} choices=${ba()} ui="zone" />
      <${_e} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
      <${_e} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl act"}} />
      <label class="setting"><span>Table at the begin</span><select data-ui="first-table" value=${t.table.value} onChange=${a=>t.table.value=a.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(a=>a.db==="public").map(a=>r`<option value=${a.name}>${a.name}</option>`)}</select></label>
      <div class="setting"><span>Searches</span><span>${t.history.value.length} kept <button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button></span></div>
    </section>
    <section aria-label="User"><h2 class="head">User</h2>
      <div class="setting"><span>Signed in as</span><span>${n?.auth==="off"?"This server has no users: everybody may do everything.":r`<b>${n?.user??""}</b>`}</span></div>
      ${n&&n.auth!=="off"&&r`<div class="setting"><span>May</span><span>${ha(n).join(", ")||"nothing"}</span></div>`}
      ${s.user.value&&r`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>s.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
    </section>
    <section aria-label="Server"><h2 class="head">Server</h2>
      <div class="setting"><span>Node</span><span>${n?.server?.name}</span></div>
      <div class="setting"><span>Version</span><span>${n?.server?.version}</span></div>
      <${ga} api=${e.api} />
    </section></div>`}function ha(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function ba(){return Object.fromEntries([...new Set([et,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function _e({label:e,value:t,choices:s,ui:n}){return r`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${n}><span>${e}</span><span class="choices-in-line">${Object.entries(s).map(([a,l])=>r`<label><input type="radio" name=${e} value=${a} checked=${t.value===a} onChange=${()=>t.value=a} />${l}</label>`)}</span></div>`}function ga({api:e}){let[t]=h(()=>L(W));return y(()=>{t.run(async s=>(await e.send({path:"/config",signal:s})).text())},[]),r`<div class="setting"><span>Started with</span><${C} latest=${t} what="Asking for the settings" />${t.value.value&&r`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}function es({stores:e,onInsert:t}){let[s,n]=h(""),[a,l]=h(""),[o]=h(()=>L(W)),i=s.trim().toLowerCase(),d=e.tables.all.value.filter(p=>`${p.db}.${p.name}`.toLowerCase().includes(i)).slice(0,300),u=p=>t(/^[a-z_][a-z0-9_]*$/.test(p)?p:G(p));function c(p){let m=`${p.db}.${p.name}`;if(l(a===m?"":m),a===m)return;o.value.value=null;let f=`SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = ${ie(p.db)} AND table_name = ${ie(p.name)} ORDER BY ordinal_position`;o.run(async v=>(await e.api.sql(f,{signal:v})).rows.map(([$,g])=>[String($),String(g)]))}return r`<section class="pane sqlnames" aria-label="Tables"><h2 class="hidden">Tables</h2><div class="head"><input class="find" type="search" placeholder="Find a table" aria-label="Find a table" value=${s}
      onInput=${p=>n(p.currentTarget.value)} /></div>
    <div class="fields">${d.map(p=>{let m=`${p.db}.${p.name}`,f=p.db===e.sql.db()?p.name:m;return r`<div key=${m}><h3 class=${a===m?"open":""}><button aria-expanded=${a===m} title=${m} onClick=${()=>c(p)}>${f}</button><span>${b(p.rows)}</span>
        <button class="text col" aria-label=${`Write the name ${f}`} onClick=${()=>p.db===e.sql.db()?u(p.name):t(`${p.db}.${G(p.name)}`)}>write</button></h3>
        ${a===m&&r`<ul class="values names">${o.value.value?.map(([v,$])=>r`<li><button class="only" onClick=${()=>u(v)}>${v}</button><span>${$}</span></li>`)}</ul>`}</div>`})}</div></section>`}function Oe(e,t){let s=document.createElement("a");s.href=URL.createObjectURL(e),s.download=t,s.click(),setTimeout(()=>URL.revokeObjectURL(s.href),6e4)}var va=["fill","stroke","stroke-width","font","text-anchor"];async function ts(e,t){let s=e.cloneNode(!0);s.setAttribute("xmlns","http://www.w3.org/2000/svg");let[n,a]=[e,s].map(c=>[...c.querySelectorAll("*")]);n.forEach((c,p)=>{let m=getComputedStyle(c);a[p].setAttribute("style",va.map(f=>`${f}: ${m.getPropertyValue(f)}`).join("; "))});let{width:l,height:o}=e.getBoundingClientRect(),i=new Image;i.src=`data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(s))}`,await i.decode();let d=document.createElement("canvas");d.width=l*2,d.height=o*2;let u=d.getContext("2d");return u.fillStyle=t,u.fillRect(0,0,d.width,d.height),u.drawImage(i,0,0,d.width,d.height),new Promise((c,p)=>d.toBlob(m=>m?c(m):p(new Error("The browser could not create the picture."))))}var Ve=e=>/^(Timestamp|Date)/.test(e.type),He=e=>/^(U?Int|Float|Decimal)/.test(e.type);function Je(e){let t=e.findIndex(Ve),s=e.findIndex((l,o)=>He(l)&&o!==t&&(t>=0||o>0||e.length===1));if(s<0)return null;let n=t>=0?t:e.findIndex((l,o)=>o!==s),a=e.findIndex((l,o)=>o!==n&&o!==s&&!He(l)&&!Ve(l));return{x:n<0?s:n,y:s,series:a}}function ss({columns:e,rows:t},{x:s,y:n,series:a}){let l=e[s],o=Ve(l),i=!o&&!He(l),d=new Map,u=new Map;for(let p of t){let m=Number(p[n]);if(p[n]===null||p[s]===null||!Number.isFinite(m))continue;let f=a>=0?String(p[a]??"null"):e[n].name,v=String(p[s]);i&&!d.has(v)&&d.set(v,d.size);let $=i?Number(d.get(v)):o?ya(p[s],l.type):Number(p[s]);u.has(f)||u.set(f,[]),u.get(f)?.push([$,m])}let c=[...u].map(([p,m])=>({name:p,points:m.sort((f,v)=>f[0]-v[0])}));return{series:c.slice(0,12),labels:i?[...d.keys()]:null,time:o,left:Math.max(0,c.length-12)}}var wa={TimestampSecond:.001,TimestampMillisecond:1,TimestampMicrosecond:1e3,TimestampNanosecond:1e6};function ya(e,t){let s=wa[t];return s?Number(e)/s:Date.parse(String(e))}function as(e){let t=new Map;return e.map(({name:s,points:n})=>({name:s,points:n.map(([a,l])=>{let o=(t.get(a)??0)+l;return t.set(a,o),[a,o]})}))}function Ke(e,t,s){let n=t-e||1,a=10**Math.floor(Math.log10(n/s)),l=[1,2,5,10].map(i=>i*a).find(i=>n/i<=s)??a*10,o=[];for(let i=Math.ceil(e/l)*l;i<=t+l/1e6;i+=l)o.push(Number(i.toPrecision(12)));return o}var xa=["line","bars","stacked","points"],K=64,ns=24,De=320;function os({answer:e}){let[t,s]=h(Je(e.columns)),[n,a]=h("line"),[l,o]=h(null),i=M(null);if(y(()=>{s(Je(e.columns)),o(null)},[e]),!t||e.rows.length===0)return r`<${U} title="There is nothing to draw."><p>A plot needs a column of numbers and another column for the horizontal axis.</p><//>`;let d=ka(ss(e,t),l);async function u(){let p=i.current?.querySelector("svg");if(!p)return;let m=getComputedStyle(i.current).backgroundColor;await ts(p,m).then(f=>Oe(f,"plot.png"),f=>B(`The picture was not made: ${f.message}`))}let c=(p,m)=>r`<label>${m} <select aria-label=${m} value=${t[p]}
    onChange=${f=>s({...t,[p]:Number(f.currentTarget.value)})}>
    ${p==="series"&&r`<option value="-1">none</option>`}${e.columns.map((f,v)=>r`<option value=${v}>${f.name}</option>`)}</select></label>`;return r`<div class="plot" data-ui="plot" ref=${i}><div class="subhead"><span class="orders" role="group" aria-label="Kind">${xa.map(p=>r`<button class="text" aria-pressed=${p===n} onClick=${()=>a(p)}>${p}</button>`)}</span><span class="grow"></span>${l&&r`<button class="text go" data-ui="whole-plot" onClick=${()=>o(null)}>Whole range</button>`}${c("x","along")}${c("y","up")}${c("series","apart")}<button class="text" data-ui="plot-png" onClick=${u}>PNG</button></div>
    <${Ca} drawn=${n==="stacked"?{...d,series:as(d.series)}:d} kind=${n} onZoom=${p=>o(p)} />
    <p class="legend">${d.series.map((p,m)=>r`<span><i style=${{background:le(p.name.toLowerCase(),m)}}></i>${p.name}</span>`)}${d.left>0&&r`<span class="quiet">${d.left} more are not drawn</span>`}</p></div>`}function ka(e,t){if(!t)return e;let s=e.series.map(({name:n,points:a})=>({name:n,points:a.filter(([l])=>l>=t[0]&&l<=t[1])}));return{...e,series:s.filter(({points:n})=>n.length>0)}}function Ca({drawn:e,kind:t,onZoom:s}){let n=M(null),[a,l]=h(900);y(()=>{let w=n.current,A=new ResizeObserver(()=>l(Math.max(240,w.clientWidth-24)));return A.observe(w),()=>A.disconnect()},[]);let{series:o,labels:i,time:d}=e,u=o.flatMap(w=>w.points),[c,p]=[Math.min(...u.map(w=>w[0])),Math.max(...u.map(w=>w[0]))],[m,f]=[Math.min(0,...u.map(w=>w[1])),Math.max(0,...u.map(w=>w[1]))],v=t==="bars"||t==="stacked",$=new Set(u.map(w=>w[0])).size,g=v||i?(a-K-12)/Math.max(1,$):0,T=w=>K+g/2+(p>c?(w-c)/(p-c)*(a-K-12-g):(a-K-g)/2),P=w=>c+(w-K-g/2)/(a-K-12-g||1)*(p-c),[E,k]=h(null),x=w=>Math.max(K,Math.min(a-12,w.clientX-w.currentTarget.getBoundingClientRect().left)),z=()=>{E&&Math.abs(E[1]-E[0])>4&&p>c&&s([P(Math.min(...E)),P(Math.max(...E))]),k(null)},R=w=>8+(1-(w-m)/(f-m||1))*(De-ns-8),oe=i?i.map((w,A)=>({at:A,text:w})).filter((w,A)=>A%Math.ceil(i.length/Math.max(1,a/110))===0):d?at(c,Math.max(p,c+1e3),a,()=>0).map(({at:w})=>({at:w,text:Ta(w)})):Ke(c,p,a/110).map(w=>({at:w,text:b(w)}));return r`<div ref=${n} class="drawing"><svg width=${a} height=${De} role="img" onPointerDown=${w=>{w.currentTarget.setPointerCapture(w.pointerId),k([x(w),x(w)])}} onPointerMove=${w=>E&&k([E[0],x(w)])} onPointerUp=${z} aria-label=${`${o.length} series, ${u.length} points, from ${b(m)} to ${b(f)}`}>
    ${Ke(m,f,6).map(w=>r`<line class="rule" x1=${K} x2=${a} y1=${Math.round(R(w))+.5} y2=${Math.round(R(w))+.5} /><text x=${K-8} y=${R(w)+4} text-anchor="end">${b(w)}</text>`)}
    ${oe.map(w=>r`<text x=${T(w.at)} y=${De-6} text-anchor="middle">${w.text.slice(0,16)}</text>`)}
    ${(v?[...o].reverse():o).map((w,A)=>{let Ge=v?o.length-1-A:A,Pe=le(w.name.toLowerCase(),Ge);return t==="points"?w.points.map(re=>r`<circle cx=${T(re[0])} cy=${R(re[1])} r="2.5" style=${{fill:Pe,stroke:"none"}} />`):v?r`<${Sa} points=${w.points} colour=${Pe} toX=${T} toY=${R} slot=${g} part=${t==="bars"?Ge:0} parts=${t==="bars"?o.length:1} />`:r`<polyline points=${w.points.map(re=>`${T(re[0]).toFixed(1)},${R(re[1]).toFixed(1)}`).join(" ")} style=${{stroke:Pe}} />`})}
    ${E&&r`<rect class="zoomed" x=${Math.min(...E)} y="8" width=${Math.abs(E[1]-E[0])} height=${De-ns-8} />`}
  </svg></div>`}function Sa({points:e,colour:t,toX:s,toY:n,slot:a,part:l,parts:o}){let i=a>6?2:0,d=Math.max(1,(a-i)/o);return e.map(([u,c])=>{let[p,m]=[Math.min(n(c),n(0)),Math.max(n(c),n(0))];return r`<rect x=${s(u)-(a-i)/2+l*d} y=${p} width=${d} height=${Math.max(1,m-p)} style=${{fill:t,stroke:"none"}} />`})}function Ta(e){let{date:t,time:s}=fe(e,"UTC");return s==="00:00:00"?t.slice(5):s.endsWith(":00")?s.slice(0,5):s}var _a={table:"Table",plot:"Plot",plan:"Plan"};function ls({stores:e,tab:t,answer:s}){let{sql:n}=e,{columns:a,rows:l}=s,o=e.place.here.value.params.get("tab")??"table",[i,d]=h(null);y(()=>d(null),[s]);let u=O(()=>mt(s,i),[s,i]),c={path:"/v1/sql",form:{sql:t.ran.value,db:n.db()}},p=s.affected===null||a.length>0?`${l.length===n.most.value?"First ":""}${b(l.length)} ${l.length===1?"row":"rows"}`:`${b(s.affected)} rows affected`;return r`<section class="pane result" aria-label="Result" data-ui="result">
    <div class="head">${a.length>0&&r`<div class="tabs" role="group" aria-label="View">${Object.entries(_a).map(([m,f])=>r`<button class="text" data-ui=${`tab-${m}`} aria-pressed=${m===o} onClick=${()=>n.show(m)}>${f}</button>`)}</div>`}<h2>${p}</h2>
      <span class="quiet wide">${a.length>0&&`${a.length} ${a.length===1?"column":"columns"} \xB7 `}${F(s.ms)}</span><span class="grow"></span>
      ${a.length>0&&r`<${Oa} answer=${s} order=${u} statement=${t.ran.value} db=${n.db()} />`}
      <button class="text" onClick=${()=>j(Qe(c,location.origin))}>Copy as curl</button></div>
    ${a.length>0&&(o==="plot"?r`<${os} answer=${s} />`:o==="plan"?r`<${Ma} sql=${n} tab=${t} />`:r`<${Da} answer=${s} order=${u} sort=${i} onSort=${d} />`)}
  </section>`}function Oa({answer:e,order:t,statement:s,db:n}){let{columns:a}=e,l=()=>t.map(d=>e.rows[d]),o=(d,u)=>`/v1/sql?${new URLSearchParams({sql:s,db:n,format:d,timeout:"1h",filename:`rows.${u}`})}`,i=(d,u,c)=>Oe(new Blob([d],{type:u}),`rows.${c}`);return r`<${V} button=${r`<span>Download or copy</span>`} label="Rows of the answer" ui="take" class="text change">${d=>{let u=c=>()=>(d(),void c());return r`${!ve(s)&&r`<p class="quiet">All rows, by running it again</p>
      <a class="choice" href=${o("csvWithNames","csv")} download="rows.csv" onClick=${d}>CSV</a>
      <a class="choice" href=${o("ndjson","ndjson")} download="rows.ndjson" onClick=${d}>NDJSON</a>
      <a class="choice" href=${o("parquet","parquet")} download="rows.parquet" onClick=${d}>Parquet</a>`}
    <p class="quiet">The ${b(t.length)} rows here</p>
    <button class="choice" data-ui="save-csv" onClick=${u(()=>i(Me(a,l()),"text/csv","csv"))}>CSV</button>
    <button class="choice" data-ui="save-json" onClick=${u(()=>i(Ae(a,l()),"application/json","json"))}>JSON</button>
    <button class="choice" data-ui="copy-tsv" onClick=${u(()=>j([a.map(c=>c.name).join("	"),Re(a,l())].join(`
`)))}>Copy with tabs</button>
    <button class="choice" data-ui="copy-csv" onClick=${u(()=>j(Me(a,l())))}>Copy as CSV</button>
    <button class="choice" data-ui="copy-json" onClick=${u(()=>j(Ae(a,l())))}>Copy as JSON</button>`}}<//>`}function Da({answer:e,order:t,sort:s,onSort:n}){let{columns:a,rows:l}=e,o=O(()=>Ra(e),[e]),[i,d]=h({}),[u,c]=h({row:-1,column:0}),[p,m]=h(null);y(()=>{d({}),c({row:-1,column:0})},[e]);let f=o.map((k,x)=>i[x]??k),v=(k,x)=>{l[t[k]]&&m({name:a[x].name,text:Ea(l[t[k]][x],a[x].type)})};function $(k){let x={ArrowDown:[1,0],ArrowUp:[-1,0],ArrowRight:[0,1],ArrowLeft:[0,-1]}[k.key];if(!k.target.closest(".colhead")){if(x)c({row:rs(u.row+x[0],l.length),column:rs(u.column+(u.row<0?0:x[1]),a.length)});else if(k.key==="Enter"&&u.row>=0)v(u.row,u.column);else return;k.preventDefault(),k.stopPropagation()}}function g(k){let x=getSelection(),R=[...k.currentTarget.querySelectorAll(".cells")].filter(A=>x?.containsNode(A,!0));if(R.length<2||!k.clipboardData)return;let[oe,w]=[R[0],R[R.length-1]].map(A=>Number(A.dataset.index));k.clipboardData.setData("text/plain",Re(a,t.slice(oe,w+1).map(A=>l[A]))),k.preventDefault()}let T=k=>s?.by!==k?"":s.down?"down":"up",P=a.map((k,x)=>({id:`${k.name} ${x}`,name:k.name,title:`${k.name}, ${k.type}; click: sort`,width:f[x],sorted:T(x)})),E=k=>r`<div class="row cells" role="row" aria-rowindex=${k+1} data-index=${k} key=${k}>
    ${l[t[k]].map((x,z)=>{let R=we(x,a[z].type).slice(0,300),oe=x===null?"nul":typeof x=="number"&&!a[z].type.startsWith("Timestamp")?"num":"";return r`<span role="gridcell" class=${`${oe} ${k===u.row&&z===u.column?"on":""}`} style=${{width:`${f[z]}px`}}
        onDblClick=${()=>v(k,z)} onClick=${()=>c({row:k,column:z})}>${D(R)}</span>`})}</div>`;return r`<div class="grid" onKeyDown=${$} onCopy=${g}><div class="gridwidth" style=${{minWidth:`${f.reduce((k,x)=>k+x,0)}px`}}>
      <div class="colhead" role="group" aria-label="Columns"><${tt} columns=${P} onWidth=${(k,x)=>d({...i,[k]:x})}
        onSort=${k=>n(s?.by!==k?{by:k,down:!1}:s.down?null:{by:k,down:!0})} /></div>
      <${he} count=${l.length} height=${24} label=${`${l.length} rows; arrows move, Enter opens a cell`} focus=${u.row} resetKey=${`${t[0]} ${s?.by} ${s?.down}`} row=${E} /></div>
      ${p&&r`<${Pa} ...${p} onClose=${()=>m(null)} />`}</div>`}function Pa({name:e,text:t,onClose:s}){return r`<${q} title=${e} class="broad" onClose=${s}><pre class="asked cell-text" data-ui="cell" tabindex="0">${Ye(t)}</pre>
    <p class="acts"><button class="button main" onClick=${()=>j(t)}>Copy</button><button class="button" onClick=${s}>Close</button></p><//>`}function Ea(e,t){let s=we(e,t);if(!/^\s*[[{]/.test(s))return s;try{return JSON.stringify(JSON.parse(s),null,2)}catch{return s}}function Ra({columns:e,rows:t}){let s=t.slice(0,200).map(n=>n.map((a,l)=>we(a,e[l].type)));return e.map((n,a)=>{let l=s.reduce((o,i)=>Math.max(o,Math.min(i[a].length,60)),n.name.length);return Math.round(l*7.3)+24})}function rs(e,t){return Math.max(0,Math.min(t-1,e))}function Ma({sql:e,tab:t}){y(()=>{e.explain()},[t.ran.value]);let s=t.plan.value.value?.rows??[],n=s.find(([a])=>a==="segments")?.[1];return r`<div class="scrolled plan" data-ui="plan"><${N} since=${t.plan.since.value} onCancel=${t.plan.cancel} /><${C} latest=${t.plan} what="EXPLAIN ANALYZE" />
    ${n&&r`<p class="none">It reads ${String(n)}.</p>`}
    ${s.filter(([a])=>a!=="segments").map(([,a])=>r`<pre tabindex="0">${String(a)}</pre>`)}</div>`}function Aa({stores:e}){let{sql:t}=e,s=M(null),[n,a]=h("");y(()=>{document.title="SQL \xB7 cordwood"},[]);let l=t.tab.value,o=l.text.value;function i(){let v=s.current,{selectionStart:$,selectionEnd:g,value:T}=v,P=$<g?T.slice($,g).trim():Ee(T,$);P&&(ve(P)?a(P):t.run(P))}y(()=>e.keys.bind({"ctrl+Enter":["run the statement",()=>i()]}),[e]);function d(v){s.current?.focus(),document.execCommand("insertText",!1,v)}let[u,c]=[e.tables.all.value,t.columns.value.value??[]],p=O(()=>($,g)=>(t.describe(Ee($,g)),ft($,g,{tables:u,columns:c,db:t.db()})),[u,c]),m=e.signIn.canManage.value,f=l.latest.value.value;return r`<h1 class="hidden">SQL</h1><div class="sqlpage"><${es} stores=${e} onInsert=${d} />
    <div class="pane">
    <${Na} sql=${t} />
    <div class="sqleditor"><${ae} key=${l.id} label="Statements" text=${o} lines=${O(()=>$t(o),[o])} wrong=${t.faultOf(l)}
      onText=${t.write} complete=${p} onReady=${v=>s.current=v} /></div>
    <div class="tailbar">
      <button class="button main" data-ui="run" onClick=${()=>i()}>Run</button><kbd>Ctrl ↵</kbd>
      <label class="by again">at most <select aria-label="Rows that are shown at most" value=${t.most.value}
        onChange=${v=>t.most.value=Number(v.currentTarget.value)}>${ht.map(v=>r`<option value=${v}>${b(v)}</option>`)}</select> rows</label>
      <${lt} saved=${e.savedSql} place=${e.place} what="statement" />
      <span class="quiet">database ${t.db()}; times are in UTC${m?"":"; you may only read"}</span>
    </div>
    <${N} since=${l.latest.since.value} onCancel=${l.latest.cancel} />
    <${C} latest=${l.latest} what="The statement" />
    ${f&&!l.latest.error.value&&r`<${ls} stores=${e} tab=${l} answer=${f} />`}</div></div>
    ${n&&r`<${qa} statement=${n} onNo=${()=>a("")} onYes=${()=>{a(""),t.run(n)}} />`}`}function Na({sql:e}){return r`<div class="sqltabs" role="group" aria-label="Texts">${e.tabs.value.map((t,s)=>r`<span class=${t===e.tab.value?"on":""} key=${t.id}><button class="text" data-ui="sql-tab" aria-pressed=${t===e.tab.value} onClick=${()=>e.at.value=s}>${is(t)}</button>
        <button class="text" aria-label=${`Close ${is(t)}`} onClick=${()=>e.closeTab(t)}>✕</button></span>`)}<button class="text" data-ui="sql-new" aria-label="New text" title="New text" onClick=${()=>e.addTab("")}>+</button></div>`}function is(e){let t=e.text.value.trim().replace(/\s+/g," ");return t.length>24?`${t.slice(0,24)}\u2026`:t||"empty"}function qa({statement:e,onNo:t,onYes:s}){return r`<${q} title="This statement changes something" onClose=${t}>
    <pre class="asked">${e.slice(0,400)}</pre>
    <p class="acts"><button class="button main" onClick=${s}>Run it</button><button class="button" onClick=${t}>Cancel</button></p><//>`}var cs=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],ds=["INVERTED","SKIPPING","FULLTEXT"],Ze=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${ie(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:s})=>`ALTER TABLE ${e} ADD COLUMN ${G(t)} ${s}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:s})=>`ALTER TABLE ${e} MODIFY COLUMN ${G(t)} SET ${s} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${G(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function us({id:e,db:t,name:s,info:n,fields:a,stores:l,onClose:o}){let{table:i,tables:d,place:u}=l,c=Ze.find($=>$.id===e),[p,m]=h({ttl:n?.ttl??"",type:cs[0],index:ds[0],column:"",to:s}),f=c.statement(G(s),p);async function v(){await i.change(t,f)&&(B(`Done: ${f}`),o(),await d.load(),c.gone?u.set("tables",p.to!==s&&e==="rename"?{db:t,t:p.to}:{db:t},{db:"public"}):await i.load(t,s))}return r`<${me} title=${c.name.replace("\u2026","")} word=${c.typed?s:""} action=${c.typed?c.name.replace("\u2026",""):"Run it"}
    onYes=${v} onClose=${()=>{i.action.error.value=null,o()}}>
    <p>${c.says}</p>
    ${c.typed&&n&&r`<p><b>${t}.${s}</b> has ${b(n.rows)} rows, ${S(n.bytes)}.</p>`}
    ${c.asks.map(([$,g,T])=>r`<label>${g}<${ja} kind=${T} fields=${a} value=${p[$]} onValue=${P=>m({...p,[$]:P})} /></label>`)}
    <pre class="asked">${f}</pre>
    <${C} latest=${i.action} what="The statement" /><//>`}function ja({kind:e,fields:t,value:s,onValue:n}){let a=o=>n(o.currentTarget.value);if(e==="text")return r`<input required value=${s} onInput=${a} />`;let l=e==="type"?cs:e==="index"?ds:t.map(o=>o.name);return r`<select required value=${s} onChange=${a}>${e==="column"&&r`<option value="">Choose</option>`}${l.map(o=>r`<option value=${o}>${o}</option>`)}</select>`}function ps({db:e,name:t,info:s,stores:n,onClose:a}){let{table:l,prefs:o,signIn:i}=n,[d,u]=h("");y(()=>{l.latest.value.value=null,l.load(e,t)},[e,t]);let c=l.latest.value.value,p=o.zone.value,m=e==="svc_private"||e==="information_schema";return r`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
    <div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
      ${!m&&i.canManage.value&&r`<${V} button=${r`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${f=>Ze.map(({id:v,name:$})=>r`<button class="choice" data-ui=${`do-${v}`} onClick=${()=>{f(),u(v)}}>${$}</button>`)}<//>`}
      <button class="text" aria-label="Close" onClick=${a}>✕</button></div>
    <${N} since=${l.latest.since.value} onCancel=${l.latest.cancel} />
    <div class="scrolled">
      ${s&&r`<${Ia} info=${s} lastRow=${c?.lastRow??null} zone=${p} />`}
      <p class="acts"><a class="text go" href=${_("explore",{db:e,t},{db:"public"})}>Explore</a>
        <a class="text go" href=${_("tail",{db:e,t},{db:"public"})}>Tail</a>
        <a class="text go" href=${_("sql",{db:e,q:`SELECT * FROM "${t}" LIMIT 100`},{db:"public"})}>SQL</a></p>
      <${C} latest=${l.latest} what="Asking for the table" />
      ${c&&r`<${La} details=${c} />
        <${Wa} segments=${c.segments} zone=${p} />
        <h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>j(c.ddl)}>Copy</button></h3>
        <pre class="ddl" data-ui="ddl">${ct(c.ddl).map(f=>f.keyword?r`<b>${f.text}</b>`:f.text)}</pre>`}
    </div>
    ${d&&r`<${us} id=${d} db=${e} name=${t} info=${s} fields=${c?.fields??[]} stores=${n} onClose=${()=>u("")} />`}
  </section>`}function Ia({info:e,lastRow:t,zone:s}){let n=[["rows",b(e.rows)],["bytes",`${S(e.bytes)}${e.rows>0?`, ${S(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",t?`${I(t,s)}, ${F(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:"none"],["options",e.options]];return r`<dl>${n.map(([a,l])=>l&&r`<div><dt>${a}</dt><dd>${l}</dd></div>`)}</dl>`}function La({details:e}){return r`<h3 class="head">Columns<span class="quiet">${b(e.fields.length)}; of the newest 1,000 rows: how many have a value</span></h3>
    <div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
    <tbody>${e.fields.map(t=>{let s=[...new Set(e.rows.map(n=>Z(n.v[t.name])).filter(Boolean))];return r`<tr><td>${t.name}${t.role&&r`<small>${t.role}</small>`}</td><td>${t.type}</td><td>${t.index??""}</td>
        <td class="r">${Math.round(t.fill*100)} %</td><td class="samples" title=${s.join(", ").slice(0,500)}>${D(s.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Wa({segments:e,zone:t}){if(e.length===0)return r`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let s=Math.min(...e.map(i=>Date.parse(i.from))),n=Math.max(...e.map(i=>Date.parse(i.to))),a=Math.max(...e.map(i=>i.rows)),l=i=>n>s?(Date.parse(i)-s)/(n-s)*100:0,o=e.reduce((i,d)=>i+d.bytes,0);return r`<h3 class="head">Segments<span class="quiet">${b(e.length)}, ${S(o)}</span></h3>
    <div class="segments" role="img" aria-label=${`Segments from ${I(e[e.length-1].from,t)} to ${I(e[0].to,t)}`}>${e.map(i=>r`<i key=${i.file} title=${`${b(i.rows)} rows, ${S(i.bytes)}, ${I(i.from,t)} \u2013 ${I(i.to,t)}`}
        style=${{left:`${l(i.from)}%`,width:`max(2px, ${l(i.to)-l(i.from)}%)`,height:`${Math.max(4,i.rows/a*40)}px`}}></i>`)}</div>
    <p class="segmentaxis"><span>${I(new Date(s).toISOString(),t)}</span><span>${I(new Date(n).toISOString(),t)}</span></p>`}var ms=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function za({stores:e}){let{tables:t,place:s}=e,n=s.here.value.params,[a,l]=[n.get("db")??"public",n.get("t")??""],[o,i]=h(""),[d,u]=h({by:"name",down:!1});y(()=>{t.load()},[t]),y(()=>{document.title=l?`${a}.${l} \xB7 cordwood`:"Tables \xB7 cordwood"},[a,l]),y(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>c("","")]}),[e]);function c($,g){s.set("tables",{db:$,t:g},{db:"public"})}let p=t.all.value,m=O(()=>Ba(p,o,d),[p,o,d]),f=l?p.find($=>$.db===a&&$.name===l):void 0,v=t.latest.value.value!==null;return r`<h1 class="hidden">Tables</h1>
    <${N} since=${v?0:t.latest.since.value} onCancel=${t.latest.cancel} />
    <div class=${`panes two ${l?"":"no-detail"}`}>
      <section class="pane list" aria-label="Tables">
        <div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${o}
            onInput=${$=>i($.currentTarget.value)} />
          <span class="quiet">${v&&Fa(p,m)}</span></div>
        <${C} latest=${t.latest} what="Asking for the tables" />
        ${v&&p.length===0&&r`<${U} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
          <p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
        ${p.length>0&&r`<${Ua} shown=${m} sort=${d} onSort=${u} selected=${f} onOpen=${c} lastRows=${e.lastRows} />`}
      </section>
      ${l&&(f||!v?r`<${ps} key=${`${a}.${l}`} db=${a} name=${l} info=${f} stores=${e} onClose=${()=>c("","")} />`:r`<section class="pane detail" aria-label="Table"><${U} title=${`There is no table ${a}.${l}.`}>
              <p class="acts"><button class="button" onClick=${()=>c("","")}>Close</button></p><//></section>`)}
    </div>`}function Fa(e,t){let s=t.reduce((a,l)=>a+l.bytes,0);return`${e.length===t.length?`${b(e.length)} ${e.length===1?"table":"tables"}`:`${b(t.length)} of ${b(e.length)} tables`}, ${S(s)}`}function Ba(e,t,s){let n=t.trim().toLowerCase(),a=ms.find(([i])=>i===s.by)?.[2]??(i=>`${i.db}.${i.name}`),l=new Intl.Collator("en",{numeric:!0}),o=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(n));return o.sort((i,d)=>{let[u,c]=[a(i),a(d)];return typeof u=="number"&&typeof c=="number"?u-c:l.compare(String(u),String(c))}),s.down?o.reverse():o}function Ua({shown:e,sort:t,onSort:s,selected:n,onOpen:a,lastRows:l}){let o=te();y(()=>l.stop,[l]);let i=ms.map(([u,c,p,m])=>{if(!p)return r`<span class=${m}>${c}</span>`;let f=t.by===u;return r`<button class=${m} aria-pressed=${f} title=${`Sort by ${c}`}
      onClick=${()=>s({by:u,down:f?!t.down:m.startsWith("r")})}>${c}${f&&(t.down?" \u2193":" \u2191")}</button>`});function d(u){let c=e[u],p=c===n;return r`<div class=${`row tablerow ${p?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${p} key=${`${c.db}.${c.name}`}
      data-ui="table-row" data-name=${c.name} onClick=${()=>a(c.db,c.name)}>
      <span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:c.db,t:c.name})}`}><b>${c.db}.</b>${c.name}</a></span>
      <span class="r" role="gridcell">${b(c.rows)}</span><span class="r" role="gridcell">${S(c.bytes)}</span>
      <span class="opt" role="gridcell" data-ui="last-row" title=${l.of(c)}>${Va(l.of(c))}</span>
      <span class="r opt" role="gridcell">${c.rows>0?S(c.bytes/c.rows):""}</span><span class="opt" role="gridcell">${c.ttl||"forever"}</span>
      <span class="opt" role="gridcell">${c.shards.join(", ")}</span><span class="opt" role="gridcell">${c.created.slice(0,10)}</span></div>`}return r`<div class="tablehead tablerow">${i}</div>
    <div class="rows"><${he} count=${e.length} height=${o?44:28} label=${`${e.length} tables`} row=${d}
      onSee=${(u,c)=>{l.see(o?[]:e.slice(u,c))}}
      focus=${n?e.indexOf(n):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Va(e){return e===void 0?"":e?`${F(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function Ha({stores:e}){let{tail:t,prefs:s,tables:n}=e,a=t.state.value,l=te(),[o,i]=h(null);y(()=>{t.clear(),i(null),a.table&&(s.table.value=a.table),t.follow(),document.title=`tail ${a.table} \xB7 cordwood`},[a.db,a.table,a.q]),Ja(t),y(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>$s(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);let{count:d,dropped:u}=t.drawn.value,c=t.held.value,p=s.zone.value;return r`<h1 class="hidden">Live tail</h1>
    <form class="ask" role="search" onSubmit=${m=>{m.preventDefault(),t.set({q:t.draft.value})}}>
      <${rt} db=${a.db} tables=${a.table?[a.table]:[]} all=${n.all.value} single
        onPick=${(m,f)=>t.set({db:m,t:f[f.length-1]})} />
      <${it} text=${t.draft.value} onText=${m=>t.draft.value=m}
        onRun=${()=>t.set({q:t.draft.value})} fault=${null} fields=${t.fields.value.value?.fields??[]}
        valuesOf=${e.explore.valuesFor} history=${s.history.value} />
      <button class="button main" data-ui="run">Follow</button>
    </form>
    <div class="tailbar">
      <span class="live" data-ui="tail-state"><span class=${`dot ${t.live.value&&!c?"":"bad"}`}></span>${c?`Held at ${fe(c.at,p).time}`:t.live.value?`Live \xB7 ${b(t.rate.value)} rows/s`:"Not connected"}</span>
      <button class="text" aria-pressed=${c!==null} onClick=${()=>c?t.release():t.hold()}>${c?"Follow":"Hold"} <kbd>space</kbd></button>
      <button class="text" data-ui="mark" onClick=${t.mark}>Mark <kbd>M</kbd></button>
      <button class="text" onClick=${t.clear}>Clear</button>
      <button class="text" aria-pressed=${a.wrap} data-ui="wrap" onClick=${()=>$s(t)}>Wrap <kbd>W</kbd></button>
      <label class="text">Keep <select aria-label="Rows that are kept" value=${t.most.value}
        onChange=${m=>t.most.value=Number(m.currentTarget.value)}>${bt.map(m=>r`<option value=${m}>${b(m)}</option>`)}</select></label>
      <span class="grow"></span>
      ${c&&r`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${b(t.fresh())} new rows</button>`}
      ${u>0&&r`<span class="quiet" data-ui="tail-dropped">${b(u)} older rows are in the table only</span>`}
      <a class="text" data-ui="explore-this" href=${fs(t)}>Explore this</a>
    </div>
    ${t.ended.value&&r`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${fs(t)}>Show them in Explore</a></div>`}
    <${C} latest=${t.fields} what="Following the table" />
    <div class=${`panes tail ${o?"":"no-detail"}`}>
      <section class="pane list" aria-label="Rows">
        ${d===0?r`<${U} title=${a.table?`Waiting for new rows in ${a.table}.`:"Choose a table to follow."}>
                ${a.table&&r`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//>`:r`<${be} count=${d} at=${t.at} shape=${t.shape.value} columns=${[]} marks=${t.marks.value} zone=${p}
                density=${s.density.value} narrow=${l} label=${`${d} rows, newest last`} selected=${o?.id??""}
                dropped=${u} follow=${!c} wrap=${a.wrap} onEnd=${m=>!m&&t.hold()}
                onOpen=${m=>{t.hold(),i(m.id===o?.id?null:m)}} />`}
      </section>
      ${o&&r`<${st} row=${o} shape=${t.shape.value} zone=${p} marks=${t.marks.value} columns=${[]} trace=${null} onClose=${()=>i(null)} />`}
    </div>`}function $s(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function fs(e){let{db:t,table:s,q:n}=e.state.value;return _("explore",{db:t,t:s,q:n,from:e.at(0)?.time??""},{db:"public"})}function Ja(e){y(()=>{let t,s=0,n=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{s=Date.now(),e.stop()},3e4);else if(s){let l=`${Math.ceil((Date.now()-s)/1e3)+30}s`;s=0,e.clear(),e.follow(l)}},a=()=>{let l=getSelection();l&&!l.isCollapsed&&l.anchorNode?.parentElement?.closest("[data-ui=row]")&&e.hold()};return document.addEventListener("visibilitychange",n),document.addEventListener("selectionchange",a),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",n),document.removeEventListener("selectionchange",a),e.stop()}},[e])}export{gs as AddPage,Ps as ClusterPage,ca as PipelinesPage,ua as RejectsPage,fa as SettingsPage,Aa as SqlPage,za as TablesPage,Ha as TailPage};
