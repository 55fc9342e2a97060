import{a as _t,b as De,c as Wa,i as Dt}from"./chunk-IGRKCGUK.js";import{B as $t,C as ue,E as G,F as O,G as pe,H as xe,I as U,J as ht,K as re,M as ft,N as bt,O as gt,P as Te,Q as L,R as vt,S as Oe,T as Ke,U as wt,V as yt,W as kt,X as xt,Y as Tt,a as w,aa as H,b as y,ba as Se,c as He,ca as Ce,d as dt,da as Re,e as ut,ea as Ot,f as ce,fa as S,ga as I,h as E,ha as Ee,i as F,j as pt,ja as _e,k as l,l as g,la as St,m as x,ma as Ct,n as z,o as ne,oa as Rt,q as mt,qa as Et,r as ye,s as ee,sa as Ae,t as Ve,ta as C,u as te,ua as q,v as de,w as ke,wa as At,x as oe,y as B,z as V}from"./chunk-YDNSPX4U.js";var Ua=8;function Fa({stores:e}){let{analysis:t,explore:a,prefs:o}=e,s=t.sets.value,n=o.zone.value,{q:r,bq:i,partial:c}=a.state.value,[u,d]=w(i);y(()=>{t.compare()},[JSON.stringify(s),r,c]);let p=t.comparison.value.value,b=p!==null&&(p.a.rows===0||p.b.rows===0);return l`<div class="comparing" data-ui="compare"><div class="subhead">${s&&l`<span><i class="set-a"></i>A: ${(h=>`${L(h.from,n)} \u2013 ${L(h.to,n).slice(11)}`)(s.a)} <b>${p&&g(p.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${s.rest?"the rest of the range":i?l`the search <code>${i}</code>`:"the range before"} <b>${p&&g(p.b.rows)}</b></span>`}<span class="grow"></span>${(a.state.value.afrom||i)&&l`<button class="text" onClick=${()=>a.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${h=>{h.preventDefault(),a.set({bq:u.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${u} onInput=${h=>d(h.currentTarget.value)} /></form></div>
<${O} latest=${t.comparison} what="Comparing" />
${p?.low&&!b&&l`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${b&&l`<${za} answer=${p} before=${!s?.rest&&!i} />`}
${p&&!b&&p.fields.length===0&&l`<${U} title="No field differs."><p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&p?"dim":""}`}>${p?.fields.map(h=>l`<${Ba} key=${h.name} field=${h} answer=${p} onOnly=${a.only} onWithout=${a.without} />`)}
${p&&(p.same.length>0||p.unique.length>0)&&l`<p class="quiet none">${p.same.length>0&&`Alike in both: ${p.same.join(", ")}. `}${p.unique.length>0&&`Different in each row: ${p.unique.join(", ")}.`}</p>`}</div></div>`}function za({answer:e,before:t}){let a=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return l`<${U} title="There is nothing to compare."><p>${a} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function Ba({field:e,answer:t,onOnly:a,onWithout:o}){let s=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),n=e.kind==="numbers"?s:[...s].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,Ua),r=Math.max(1e-4,...n.flatMap(({a:c,b:u})=>[c,u])),i=c=>{let{value:u}=n[c];if(u===null)return Ke(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return Ke(e.name,String(u));let d=n[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return l`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${n.map(({value:c,a:u,b:d},p)=>l`<li><button class="only" onClick=${()=>c===null?o(i(p)):a(i(p))} title=${`A ${Ne(u)}, B ${Ne(d)}; click: only these`}>${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?Number(Number(c).toPrecision(4)):ne(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/r*100}%`}}></i><i class="set-b" style=${{width:`${d/r*100}%`}}></i></span><small>${Ne(u)}<br />${Ne(d)}</small></li>`)}</ul></section>`}function Ne(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var Nt={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function Ga({stores:e}){let{analysis:t,explore:a,prefs:o}=e,[s,n]=w("count"),r=a.range.value,i=a.state.value,c=a.fields.value.value?.fields??[],u=c.filter(v=>v.type==="String").map(v=>v.name),d=`${i.db}.${i.tables.join()}=`,p=o.patternFields.value.find(v=>v.startsWith(d))?.slice(d.length)??"",b=u.includes(p)?p:"",m=c.length>0&&b===""&&!c.some(v=>v.role==="message");y(()=>{r&&!m&&t.loadPatterns(b)},[r?.from,r?.to,i.q,i.partial,b,m]);let h=v=>{o.patternFields.value=[d+v,...o.patternFields.value.filter(D=>!D.startsWith(d))]};if(m)return l`<${Ha} texts=${u} onChoose=${h} />`;let $=t.patterns.value.value,f=$?.rows??0,k=[...$?.patterns??[]].sort(Nt[s][1]);return l`<div class="subhead"><span class="quiet">${$&&`${$.exact?"":"\u2248 "}${g(f)} rows as ${g($.patterns.length)} patterns of`}</span>
${$&&l`<select aria-label="Text whose patterns are shown" value=${b||$.field} onChange=${v=>h(v.currentTarget.value)}>${[...new Set([$.field,...u])].map(v=>l`<option value=${v}>${v}</option>`)}</select>`}<span class="grow"></span>
<span role="group" aria-label="Order" class="orders">${Object.entries(Nt).map(([v,[D]])=>l`<button class="text" aria-pressed=${v===s} onClick=${()=>n(v)}>${D}</button>`)}</span></div>
<${O} latest=${t.patterns} what="Looking for patterns" />
${$&&$.patterns.length===0&&l`<${U} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&$?"dim":""}`}>${k.map(v=>l`<${Va} key=${v.pattern} pattern=${v} total=${f} zone=${o.zone.value} exact=${$?.exact!==!1&&!v.about}
onOnly=${()=>a.only(v.query,{view:"rows"})} onWithout=${()=>a.without(`(${v.query})`)} />`)}</ul>
${$&&$.other>0&&l`<div class="foot"><span>${g($.other)} rows have none of these patterns</span></div>`}`}function Ha({texts:e,onChoose:t}){return e.length===0?l`<${U} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:l`<${U} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(a=>l`<button class="button" data-ui="pattern-field" onClick=${()=>t(a)}>${a}</button> `)}</p><//>`}function Va({pattern:e,total:t,zone:a,exact:o,onOnly:s,onWithout:n}){let r=t>0?e.count/t*100:0,i=ft.find(u=>e.levels[u]>0&&bt(u))??"",c=e.before===0?"new":`${g(e.before)} before`;return l`<li data-ui="pattern" class=${i}>
<span class="count">${o?"":"\u2248 "}${g(e.count)}<small>${r<.1?"< 0.1":r.toFixed(1)} %</small></span>
<${Ka} counts=${e.spark} level=${i} />
<button class="only" title=${e.example.text.slice(0,500)} onClick=${s}>${e.pattern.split("\u27E8*\u27E9").map((u,d)=>l`${d>0&&l`<i>⟨*⟩</i>`}${u}`)}</button>
<small class=${`wide ${e.before===0?"fresh":""}`}>${c}</small><small class="wide">since ${L(e.first,a).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${e.pattern.slice(0,60)}`} title="Hide these rows" onClick=${n}>−</button></li>`}function Ka({counts:e,level:t}){let a=Math.max(1,...e),o=e.map((s,n)=>s>0?`M${n*3+1} 18v-${Math.max(1,s/a*16).toFixed(1)}`:"").join("");return l`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true"><path d=${o} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function Pe(e){let t=e.db==="public"?"":`db=${Je(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${Je(e.table)}&pipeline_name=${Je(e.pipeline)}`}function Je(e){return encodeURIComponent(e).replace(/%3A/g,":").replace(/%40/g,"@")}function me(e,t){return Pe(e)+(e.pipeline===Q?`&custom_time_index=${t}`:"")}var Q="svc_identity";function Le(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===Q?"":` --pipeline ${e.pipeline}`}`}function Ye(e){return e.user?`export CORDWOOD_USER=${ye(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Pt(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==Q&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function le(e){return Pt(e).map(([t,a])=>`${t}: ${K(a)}`).join(", ")}function Qe(e){return Pt(e).map(([t,a])=>`"${t}" = "${a}"`).join(", ")}function K(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}function Lt(e){return/^[a-z][\w.@-]*$/i.test(e)?e:`'${e.replace(/[\\']/g,"\\$&")}'`}var Ja={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function $e({db:e,table:t,pipeline:a}){for(let[o,s]of[["database",e],["table",t],["pipeline",a]])if(!Ja[o].test(s))return`\u201C${s}\u201D cannot be the name of a ${o}. Use letters, digits, and the characters _ . : -`;return""}function J(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function Xe(e,t){let a=e.split(`
`).find(o=>o.startsWith(`${t} = "`));return a?a.slice(t.length+4,a.lastIndexOf('"')):""}function Ze(e,t,a){let{host:o,port:s,secure:n}=J(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${o}
      port: ${s}${n?`
      tls: on`:""}
      uri: ${me(e,"date;rfc3339").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===Q?"iso8601":a}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${K(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function et(...e){return t=>e.map(a=>a+It([`table=${t.table}`,...qt(t)])).join(",")}function qt(e){return[...e.db==="public"?[]:[`db=${e.db}`],...e.pipeline===Q?[]:[`pipeline=${e.pipeline}`]]}function It(e){return e.length===0?"":`?${e.join("&")}`}var jt=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:et("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${J(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"docker",name:"Docker",file:"compose.yaml",note:"A container starts only if the port answers.",port:{flag:"splunk-addr",text:e=>`0.0.0.0:8088${It(qt(e))}`},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${new URL(e.origin).protocol}//${J(e).host}:8088
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${K(e.table)}
        splunk-format: json`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:et("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${J(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:et("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${J(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${J(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${le(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var he=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${Pe(e)}' \\
     ${e.user?`-u ${ye(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${Ye(e)}cordwood ingest --server ${e.origin} ${Le(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${Ye(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${Le(e)}${e.pipeline===Q?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",lacks:({table:e})=>e.includes("#")?"Vector reads % in an address as a part of a time, so it cannot send to a table with # in its name.":"",note:"From version 0.57 on, start Vector with --dangerously-allow-env-var-interpolation, so that it reads variables, or take the password from one of its secret backends.",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${me(e,"timestamp;rfc3339")}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${K(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>Ze(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>Ze(e,`  inputs:
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
  endpoint ${me(e,"time;epoch;ms")}
  content_type application/x-ndjson
  retryable_response_codes 408,429,500,502,503,504${e.user?`
  <auth>
    method basic
    username ${Lt(e.user)}
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
    url => "${me(e,"@timestamp;rfc3339")}"
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
    url("${Pe(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${Le(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${K(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${le(e)}}
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
    headers             = {${Qe(e)}}
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
    headers: {${le(e)}}${e.user?`
    basic_auth: {username: ${K(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:a,secure:o}=J(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${o?"https":"http"}://${t}:${a}/v1/elasticsearch"]${e.user?`
  username: ${K(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${le(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${Qe(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},...jt];var Ya={db:null,t:null,pipeline:null,sender:e=>he.some(t=>t.id===e)};function Qa({stores:e}){let{adding:t,place:a,signIn:o}=e,s=a.here.value.params,n=he.find(m=>m.id===s.get("sender"))??he[0],[r,i,c]=[s.get("db")||"public",s.get("t")||"app",s.get("pipeline")||"svc_identity"];H(a.page.value==="add"?B(s,Ya):[]),y(()=>{document.title="Add data \xB7 cordwood"},[]),y(()=>{let m=setTimeout(()=>{t.follow(r,i)},300);return()=>{clearTimeout(m),t.stop()}},[r,i]);let u=m=>a.set("add",{sender:n.id,t:i,db:r,pipeline:c,...m},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=$e({db:r,table:i,pipeline:c})||n.lacks?.({db:r,table:i,pipeline:c})||"",p=_e(o,$e({db:r,table:i,pipeline:c})?[]:[["INSERT",Ee(r,i)]])?.[0]!==!1,b=d?"":n.text({origin:location.origin,db:r,table:i,pipeline:c,user:o.user.value});return l`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${!p&&l`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${i}: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${i} onInput=${m=>u({t:Mt(m)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${m=>u({pipeline:Mt(m)})} /></label>
<${Za} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${he.map(m=>l`<button class="text" aria-pressed=${m===n} data-ui=${`sender-${m.id}`} onClick=${()=>u({sender:m.id})}>${m.name}</button>`)}</nav>
${n.port&&!d&&l`<${Xa} api=${e.api} flag=${n.port.flag} value=${n.port.text({origin:location.origin,db:r,table:i,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${n.name}><div class="head"><h2>${n.name}</h2><span class="quiet">${n.file}</span><span class="grow"></span>
${!d&&l`<button class="button" onClick=${()=>G(b)}>Copy</button>`}</div>
${d?l`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:l`<pre data-ui="snippet" tabindex="0">${b}</pre>`}
${n.note&&l`<p class="quiet none">${n.note}</p>`}
${o.user.value&&l`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${o.session.value?.auth==="token"?"a token that may store rows":`the password of ${o.user.value}`}.</p>`}</section>
${p&&!$e({db:r,table:i,pipeline:c})&&l`<${es} adding=${t} to=${{db:r,table:i,pipeline:c}} />`}
<${ts} stores=${e} db=${r} table=${i} />
<${os} key=${`${r}.${i}`} stores=${e} db=${r} table=${i} />
</div>`}function Xa({api:e,flag:t,value:a}){let[o,s]=w("");y(()=>{e.send({path:"/config",need:["MONITOR","CLUSTER"]}).then(async i=>s(await i.text()),()=>{})},[]);let n=Xe(o,t),r=`cordwood serve --${t} ${ee(a)}`;return l`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${n?`It listens at ${n}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>G(r)}>Copy</button></div><pre tabindex="0">${r}</pre></section>`}function Mt(e){return e.currentTarget.value.trim()}function Za({api:e}){let[t,a]=w([]);return y(()=>{e.json({path:"/v1/pipelines"}).then(o=>a(o.pipelines.map(s=>s.name)),()=>{})},[]),l`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(o=>l`<option value=${o}></option>`)}</datalist>`}function es({adding:e,to:t}){let[a,o]=w(!1),s=dt(null),n=i=>i?.[0]&&void e.send(i[0],t),r=e.sending.value;return l`<section class=${`drop ${a?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),o(!0)}}
onDragLeave=${()=>o(!1)}
onDrop=${i=>{i.preventDefault(),o(!1),n(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>s.current?.click()}>Choose a file</button>
<input ref=${s} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>{let c=i.currentTarget;n(c.files),c.value=""}} /></p>
${r&&l`<p role="status">${r.name}: ${x(r.sent)} of ${x(r.size)}, ${g(r.rows)} ${r.rows===1?"row":"rows"} stored${r.done?r.error?`. ${r.error}`:", done.":"\u2026"} ${!r.done&&l`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${r.size>0?r.sent/r.size*100:100}%`}}></div>
${r.refused>0&&l`<p class="wrong">${g(r.refused)} ${r.refused===1?"record was":"records were"} refused${r.refused>r.reasons.length&&", for example"}:</p>`}
${r.reasons.map(i=>l`<p class="wrong">${ne(i)}</p>`)}`}
</section>`}function ts({stores:e,db:t,table:a}){let{adding:o,api:s,prefs:n}=e,r=re(),[i]=w(()=>C(q)),c=o.rows.value,u=c.length>0;if(y(()=>{u&&i.run(p=>s.json({path:"/v1/explore/fields",body:{db:t,tables:[a]},signal:p}),`${t}.${a}`)},[u,t,a]),!u)return l`<section class="first" aria-live="polite" data-ui="first-row"><${rs} table=${a} /></section>`;let d=i.value.value;return l`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${g(o.count.value)} ${o.count.value===1?"row":"rows"} arrived in ${a}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(p=>p.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${V("explore",{db:t,t:a},{db:"public"})}>Open in Explore</a></div>
<${Oe} count=${c.length} at=${p=>c[p]} shape=${Ae(d)} columns=${[]} marks=${null} zone=${n.zone.value}
density=${n.density.value} narrow=${r} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var as=10,ss=3e3,ns=6e4;function os({stores:e,db:t,table:a}){let[o]=w(()=>C(q));y(()=>{let n=Date.now()-ns,r=()=>document.visibilityState==="visible"&&void o.run(c=>e.rejects.newest({db:t,table:a,since:n},c),`${t}.${a}`);r();let i=setInterval(r,ss);return()=>{clearInterval(i),o.cancel()}},[t,a]);let s=o.value.value??[];return s.length===0?null:l`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${s.length===5?"Newest rejected records":`${g(s.length)} rejected ${s.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${V("rejects",{t:a})}>All rejects of ${a}</a></div>
<${_t} stores=${e} rejects=${s} /></section>`}function rs({table:e}){let[t]=w(Date.now()),a=pe(1e3),o=Math.floor((a-t)/1e3);return l`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${o} s</p>
${o>=as&&l`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var X=()=>"",fe={name:"node",label:"Node",kind:"node"},Wt={name:"force",label:"Also if the metadata group then survives the loss of fewer nodes",kind:"check"},qe={name:"shard",label:"Shard",kind:"shard"},be=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[fe,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:X,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[fe],word:X,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[fe,Wt],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node,force:e.force==="yes"})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[fe,Wt],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node,force:e.force==="yes"})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:X,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[qe,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:X,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[qe,{name:"replicas",label:"Replicas",kind:"number"}],word:X,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[qe,fe],word:X,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[qe],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:X,request:e=>({kind:"table-move",table:e.table,to_shards:ls(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:X,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function ls(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}var is={"node-add":()=>({name:"Add a node\u2026",act:"add-node",given:{}}),"node-undrain":({node:e=""})=>({name:`Undrain ${e}\u2026`,act:"undrain",given:{node:e}}),"node-decommission":({node:e=""})=>({name:`Decommission ${e}\u2026`,act:"decommission",given:{node:e}}),"node-remove":({node:e=""})=>({name:`Forget ${e}\u2026`,act:"remove",given:{node:e}}),"shard-move":({node:e="",shard:t})=>({name:"Move a replica\u2026",act:"shard-move",given:{from:e,shard:t?String(t):""}}),"replica-rebuild":({node:e="",shard:t})=>({name:"Rebuild the replica\u2026",act:"rebuild",given:{node:e,shard:String(t??"")}}),rebalance:()=>({name:"Rebalance\u2026",act:"rebalance",given:{}}),"rebalance-resume":()=>({name:"Resume rebalancing\u2026",act:"rebalance",given:{}}),cancel:({operation:e})=>({name:`Cancel operation ${e}`,act:"cancel",given:{operation:String(e??"")}})};function Ut({actions:e=[]}){return e.flatMap(t=>is[t.kind]?.(t)??[])}function Ft({id:e,given:t,state:a,stores:o,onClose:s}){let{operations:n,health:r,tables:i}=o,c=be.find(f=>f.id===e),[u,d]=w({count:"1",replicas:String(a.replication),partitions:"2",...t});He(()=>n.clear(),[]);let p=n.asks.value,b=n.start.value.value,m=p||c.word(u);async function h(){if(n.start.since.value>0)return;let f=c.request(u);await n.begin(p?{...f,confirm:p}:f)&&(te(n.start.value.value?.message||"The operation has started."),s(),await r.load())}let $=f=>k=>d({...u,[f]:k});return l`<${ke} key=${p} title=${c.name.replace("\u2026","")} word=${m} action="Begin" busy=${n.start.since.value>0} onYes=${h} onClose=${s}>
<p>${c.says}</p>
${c.asks.map(f=>l`<label class=${f.kind==="check"?"check":""}>${f.kind!=="check"&&f.label}<${ds} asked=${f} value=${u[f.name]??""} state=${a} tables=${i.all.value} onValue=${$(f.name)} />${f.kind==="check"&&f.label}</label>`)}
<${cs} values=${u} state=${a} tables=${i.all.value} />
${p&&b?.message&&l`<p class="wrong" role="alert">${b.message}</p>`}
<${O} latest=${n.start} what="Beginning it" inForm /><//>`}function cs({values:e,state:t,tables:a}){let o=t.nodes.find(i=>i.name===(e.shard?"":e.node)),s=t.shards.find(i=>String(i.id)===e.shard),n=a.find(i=>`${i.db}.${i.name}`===e.table),r=s?`Shard ${s.id} has ${x(s.bytes)} on disk.`:o?`${o.name} has ${o.replicas} replicas with ${x(o.bytes)}, and leads ${o.leads} shards.`:n?`${e.table} has ${x(n.bytes)}.`:"";return r&&l`<p class="quiet">${r}</p>`}function ds({asked:e,value:t,state:a,tables:o,onValue:s}){let n=c=>s(c.currentTarget.value),r=`act-${e.name}`;if(e.kind==="check")return l`<input type="checkbox" data-ui=${r} checked=${t==="yes"} onChange=${()=>s(t==="yes"?"":"yes")} />`;if(e.kind==="number")return l`<input type="number" data-ui=${r} required min="1" max="64" value=${t} onInput=${n} />`;if(e.kind==="shards")return l`<input required data-ui=${r} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${n} />`;let i={node:()=>a.nodes.map(c=>c.name),shard:()=>a.shards.map(c=>String(c.id)),table:()=>o.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return l`<select required data-ui=${r} value=${t} onChange=${n}><option value="">Choose</option>${i.map(c=>l`<option value=${c}>${c}</option>`)}</select>`}function zt({state:e,onClose:t}){let[a]=w(()=>new Set(e.nodes.map(r=>r.id))),o=e.nodes.filter(r=>!a.has(r.id)),n=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(r=>r.rpc_addr).join(",")}`].join(` \\
  `);return l`<${de} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${n}</pre>
<p role="status" data-ui="joined">${o.length===0?l`<span class="dot waiting"></span> Waiting for it to join…`:`${o.map(r=>r.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>G(n)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function Bt({stores:e,onClose:t}){let{operations:a,health:o}=e;He(()=>{a.clear(),a.loadPlan()},[]);let s=a.plan.value.value;async function n(r){a.start.since.value>0||await a.begin({kind:r})&&(te(a.start.value.value?.message||"Started."),await o.load(),t())}return l`<${de} title="Rebalance" onClose=${t}><div class="asks">
<${O} latest=${a.plan} what="Asking for the plan" />
${!s&&!a.plan.error.value&&l`<p class="quiet" role="status">Asking what would move…</p>`}
${s&&s.moves.length===0&&l`<p>Nothing would move: ${(s.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${s&&s.moves.length>0&&l`<p>${s.moves.length} replicas would move, ${x(s.moves.reduce((r,i)=>r+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${s.moves.map(r=>l`<tr><td>${r.shard}</td><td>${r.from}</td><td>${r.to}</td><td class="r">${x(r.bytes)}</td><td>${r.reason}</td></tr>`)}</tbody></table></div>`}
${s?.blocked.map(r=>l`<p class="wrong">${r}</p>`)}
<${O} latest=${a.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!s||s.moves.length===0} onClick=${()=>n("rebalance")}>Begin</button>
${s&&l`<button class="button" data-ui="pause" onClick=${()=>n(s.paused?"rebalance-resume":"rebalance-pause")}>${s.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function Gt({health:e,failure_tolerance:t,limited_by:a}){return t<0?a?`Too much has failed: ${a} does not work.`:"Something does not work.":e==="starting"?"The first shards are being created.":t===0?`No ${e==="ok"?"":"further "}node may fail: ${a} would stop.`:`Any ${t===1?"node":`${t} nodes`} may fail.`}function Ht(e,t,a){let o=e.requested_by&&`requested by ${e.requested_by==="cluster"?"the cluster":e.requested_by}`;if(e.state!=="running"){let n=e.ended??e.updated,r=Date.parse(n)-Date.parse(e.created);return[`${e.state} ${us(n,t,a)}`,r>=1e3&&`took ${z(r)}`,e.reason,o].filter(Boolean).join(" \xB7 ")}let s=e.total_bytes>0&&`${x(e.done_bytes)} of ${x(e.total_bytes)}`;return[`step ${e.step}`,s,e.eta_seconds&&`${z(e.eta_seconds*1e3)} left`,e.reason,o].filter(Boolean).join(" \xB7 ")}function us(e,t,a){let o=Math.max(0,t-Date.parse(e));return o<1e3?"just now":o<864e5?`${z(o)} ago`:`at ${L(e,a)} (${a})`}function Vt(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,a=>a.toUpperCase())}}function Kt(e){if(e.length<2)return e;let[t,...a]=e,o=0;for(;o<t.length&&a.every(n=>n[o]===t[o]);)o++;let s=Math.max(t.lastIndexOf("-",o-1),t.lastIndexOf(".",o-1))+1;return s<4?e:e.map(n=>`\u2026${n.slice(s)}`)}function Jt({operations:e,stores:t,may:a}){let{cancelling:o}=t.operations,s=pe(1e3),n=t.prefs.zone.value;return l`<${O} latest=${o} what="Cancelling" />
${e.length===0&&l`<p class="quiet none">No operation is running or stored.</p>`}
<ul class="ops">${e.map(r=>{let i=r.state==="running";return l`<li data-ui="operation" data-state=${r.state} key=${r.id}><h3>${Vt(r)}${i&&a&&l`<${ps} operation=${r} stores=${t} />`}</h3>
${i&&r.total_bytes>0&&l`<div class="bar" style=${{"--p":`${r.done_bytes/r.total_bytes*100}%`}}></div>`}<p>${Ht(r,s,n)}</p></li>`})}</ul>`}function ps({operation:e,stores:t}){return e.cancel?l`<span class="text">being cancelled</span>`:l`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(e.id).then(()=>t.health.load())}>Cancel</button>`}function Yt({stores:e}){let t=Math.floor((pe(1e3)-e.health.answered.value)/1e3);return l`<span class="quiet" data-ui="refreshed">refreshed ${t<1?"just now":`${t} s ago`}</span>`}function Qt(e){let t=()=>ms(e.querySelector(".panel"),e.getBoundingClientRect());return t(),addEventListener("scroll",t,!0),addEventListener("resize",t),()=>{removeEventListener("scroll",t,!0),removeEventListener("resize",t)}}function ms(e,t){e.style.position="fixed";let{width:a,height:o}=e.getBoundingClientRect(),{clientWidth:s,clientHeight:n}=document.documentElement,r=t.bottom+4,i=r+o+12>n?Math.max(12,t.top-o-4):r,c=Math.max(12,Math.min(t.left,s-a-12));Object.assign(e.style,{top:`${i}px`,left:`${c}px`,right:"auto"})}function Xt({nodes:e}){return l`<div class="wide-table" tabindex="0" role="region" aria-label="Nodes"><table><thead><tr><th>node</th><th>state</th><th class="opt">roles</th><th class="opt">metadata</th><th>disk</th><th class="r opt">of</th><th class="r">replicas</th><th class="r">leads</th><th class="r opt">bytes</th><th class="opt">version</th></tr></thead>
<tbody>${e.map(t=>l`<${hs} key=${t.id} node=${t} />`)}</tbody></table></div>`}var $s=85;function hs({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0,a=["down","silent","stopped"].includes(e.state)&&` for ${z(e.silent_seconds*1e3)}`;return l`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${a}</td>
<td class="opt">${e.roles.join(" ")}</td><td class="opt">${e.meta}</td>
<td>${e.disk_capacity>0&&l`<span class=${`disk ${t>$s?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span><span title=${`${x(e.disk_used)} of ${x(e.disk_capacity)}`}>${t.toFixed(0)} %</span>`}</td>
<td class="r opt">${e.disk_capacity>0&&x(e.disk_capacity)}</td><td class="r">${g(e.replicas)}</td><td class="r">${g(e.leads)}</td>
<td class="r opt">${x(e.bytes??0)}</td><td class="opt">${e.version}</td></tr>`}function Zt({state:e,onDo:t}){let a=e.nodes.filter(s=>s.roles.includes("shard")),o=Kt(a.map(s=>s.name));return l`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${a.map((s,n)=>l`<th title=${s.name}>${o[n]}</th>`)}<th class="r opt">lag</th><th class="r opt">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(s=>l`<tr key=${s.id}><td>shard ${s.id}</td>${a.map(n=>{let[r,i,c]=bs(s,n),u=`shard ${s.id} on ${n.name}: ${i}`;return l`<td class=${c} data-ui="shard-cell" title=${u}>${t&&r!=="\xB7"?l`<${fs} letter=${r} says=${u} shard=${String(s.id)} node=${n.name} onDo=${t} />`:r}</td>`})}<td class="r opt">${g(s.lag)}</td><td class="r opt">${x(s.bytes)}</td><td><span class=${s.state==="ok"?"":"bad"}>${s.state}</span></td></tr>`)}</tbody></table></div>`}function fs({letter:e,says:t,shard:a,node:o,onDo:s}){return l`<${oe} button=${l`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell" place=${Qt}>${n=>{let r=(i,c)=>{n(),s(i,c)};return l`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>r("shard-move",{shard:a,from:o})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>r("rebuild",{shard:a,node:o})}>Rebuild…</button>`}}<//>`}function bs(e,{name:t,state:a}){return(e.replicas.includes(t)||e.learners.includes(t))&&(a==="down"||a==="lost")?["!","has a replica, and does not answer","x"]:e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function gs({stores:e}){let{health:t,signIn:a,operations:o,place:s}=e;H(s.page.value==="cluster"?B(s.here.value.params,{}):[]),y(()=>{document.title="Cluster \xB7 cordwood";let m=()=>{document.visibilityState==="visible"&&(t.load(),o.loadList())};o.loadList();let h=setInterval(m,2e3);return()=>clearInterval(h)},[t]);let[n,r]=w({id:"",given:{}}),i=t.value.value;if(!i)return l`<h1 class="hidden">Cluster</h1><${O} latest=${t} what="Asking for the state of the cluster" />`;let c=i.health==="ok",u=t.error.value!==null,d=a.canManage.value,p=((m,h={})=>{m==="cancel"?o.cancel(Number(h.operation)).then(()=>t.load()):r({id:m,given:h})}),b=()=>r({id:"",given:{}});return l`<div class="scrolled">
<div class="state"><h1>${u?"The state of the cluster is not known":c?"The cluster is healthy":l`The cluster is <i class=${i.health}>${i.health}</i>`}</h1>
<span class="quiet" data-ui=${u?"known-since":"tolerance"}>${u?`What follows was so at ${Te(t.answered.value,e.prefs.zone.value).time} (${e.prefs.zone.value}).`:Gt(i)}</span></div>
<${O} latest=${t} what="Asking for the state of the cluster" />
${i.problems.map(m=>l`<${vs} problem=${m} onDo=${d?p:null} />`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${d&&l`<${ea} group="nodes" first=${{"add-node":"Add a node\u2026",drain:"Drain a node\u2026"}} onDo=${p} />`}</h2>
<${Xt} nodes=${i.nodes} />
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${d&&l`<${ea} group="shards" first=${{"shard-move":"Move a replica\u2026",rebalance:"Rebalance\u2026"}} onDo=${p} />`}</h2>
<${Zt} state=${i} onDo=${d?p:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations<span class="grow"></span><${Yt} stores=${e} /></h2>
<${Jt} operations=${o.list.value.value??i.operations} stores=${e} may=${d} /></section>
</div></div>
${n.id==="add-node"&&l`<${zt} state=${i} onClose=${b} />`}
${n.id==="rebalance"&&l`<${Bt} stores=${e} onClose=${b} />`}
${be.some(m=>m.id===n.id)&&l`<${Ft} id=${n.id} given=${n.given} state=${i} stores=${e} onClose=${b} />`}`}function vs({problem:e,onDo:t}){let a=t?Ut(e):[];return l`<div class=${`problem ${e.severity??""}`}><p><b>${Ve(e.text)}</b> ${Ve(e.advice)}</p>
${a.length>0&&l`<div class="offers">${a.map(({name:o,act:s,given:n})=>l`<button class="button" data-ui=${`mend-${s}`} onClick=${()=>t?.(s,n)}>${o}</button>`)}</div>`}</div>`}function ea({group:e,first:t,onDo:a}){let o=be.filter(s=>s.group===e&&!(s.id in t)).map(({id:s,name:n})=>[s,n]);return l`${Object.entries(t).map(([s,n])=>l`<button class="text wide" data-ui=${s} onClick=${()=>a(s)}>${n}</button>`)}
<${oe} button=${l`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${s=>[...Object.entries(t),...o].map(([n,r])=>l`<button class=${`choice ${n in t?"narrow-only":""}`} data-ui=${`do-${n}`} onClick=${()=>{s(),a(n)}}>${r}</button>`)}<//>`}var Ie=(e,t)=>t.map(a=>[a,`${a}, ${e}`]),ta=[...Ie("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...Ie("on pipelines",["USE","READ","WRITE"]),...Ie("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...Ie("on any of these",["ALL"])],aa=["30d","90d","365d","NEVER"],sa={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:a})=>`CREATE USER ${S(t)} PASSWORD ${I(a)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${S(e)} PASSWORD ${I(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:a})=>`ALTER USER CURRENT_USER PASSWORD ${I(a)} OLD ${I(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${S(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${S(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${S(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${S(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${S(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${S(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${S(t)} TO ${S(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>tt(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:a,on:o,expires:s,note:n})=>`CREATE TOKEN ${S(t)} FOR ${a==="query"?"QUERY ON":"INGEST INTO"} ${o} EXPIRES ${s==="NEVER"?"NEVER":`IN ${I(s)}`}${n?` NOTE ${I(n)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${S(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${S(e)}`,typed:!0}},na="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function tt(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function oa(e,t){let a={...t};for(let[o,,s]of e.asks)s==="password"&&(a[o]="\u2026");return a}function ra(e,{scope:t,on:a},o){let s=a.replace(/^(TABLE|DATABASE) /,"").split("."),[n,r]=a.startsWith("DATABASE ")?[s[0],"*"]:s.length>1?s:["public",s[0]],[i,c]=[n.replace("*","public"),r.replace("*","app")],u=`-H ${ee(`Authorization: Bearer ${o}`)}`;if(t==="query"){let p=r.includes("*")?"SHOW TABLES":`SELECT * FROM ${S(c)} LIMIT 10`;return`curl ${ee(`${e}/v1/sql?${new URLSearchParams({db:i,format:"ndjson"})}`)} ${u} \\
     --data-urlencode ${ee(`sql=${p}`)}`}let d=new URLSearchParams({db:i,table:c,pipeline_name:"svc_identity"});return`curl ${ee(`${e}/v1/ingest?${d}`)} ${u} \\
     -H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"}]'`}var ge=200,la=["ACCESS","CLUSTER"];function ca(e,t){let a=C(t),o=C(t),s=C(t),n=C(t),r=C(t,{once:!0});async function i(c,u,d){let{columns:p,rows:b}=await e.sql(c,{signal:u,need:d});return b.map(m=>Object.fromEntries(p.map((h,$)=>[h.name,String(m[$]??"")])))}return{users:a,roles:o,tokens:s,grants:n,action:r,loadUsers:c=>a.run(u=>i(`SHOW USERS${ia(c)} LIMIT ${ge}`,u,la)),loadRoles:()=>o.run(c=>i("SHOW ROLES LIMIT 1000",c,la)),loadTokens:c=>s.run(u=>i(`SHOW TOKENS${ia(c)} LIMIT ${ge}`,u)),loadGrants:c=>n.run(async u=>(await e.sql(`SHOW GRANTS FOR ${S(c)}`,{signal:u})).rows.map(d=>String(d[0])),c),async change(c){return await r.run(u=>i(c,u)),r.error.value?null:r.value.value}}}function ia(e){let t=e.trim();return t?` LIKE ${I(`%${t}%`)}`:""}function je({name:e,says:t,asks:a,choices:o,patterns:s={},initial:n={},word:r="",statement:i,latest:c,onRun:u,onClose:d,children:p}){let[b,m]=w(()=>({...Object.fromEntries(a.map(([f,,k])=>[f,k==="column"?"":[o[k]?.[0]??""].flat()[0]])),...n})),h=e.replace("\u2026","");return l`<${ke} title=${h} word=${r} action=${r?h:"Run it"} busy=${c.since.value>0} onYes=${()=>c.since.value>0||u(b)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${p}
${a.map(([$,f,k])=>l`<label>${f}<${ws} name=${$} kind=${k} choices=${o[k]} pattern=${s[k]} value=${b[$]} onValue=${v=>m({...b,[$]:v})} /></label>`)}
<pre class="asked">${i(b)}</pre>
<${O} latest=${c} what="The statement" inForm /><//>`}function ws({name:e,kind:t,choices:a,pattern:o,value:s,onValue:n}){let r=i=>n(i.currentTarget.value);if(!a){let[i,c]=t==="password"?["password","new-password"]:["text","off"];return l`<input required=${t!=="text?"} type=${i} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${o} value=${s} onInput=${r} />`}return l`<select required data-ui=${`ask-${e}`} value=${s} onChange=${r}>${t==="column"&&l`<option value="">Choose</option>`}${a.map(i=>[i].flat()).map(([i,c=i])=>l`<option value=${i}>${c}</option>`)}</select>`}function da({stores:e}){let{access:t}=e,[a,o]=w(null),[s,n]=w(""),[r,i]=w(""),[c,u]=w(null);y(()=>{d()},[s]),y(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(s),t.loadTokens(s)])}function p(f){i(f),t.loadGrants(f)}async function b(f,k,v){let D=await t.change(f);D&&(o(null),D[0]?.Token?u({of:D[0],values:v}):te(`Done: ${k}`),await Promise.all([d(),t.loadRoles(),r&&t.loadGrants(r)]))}let m=(f,k="")=>o({id:f,target:k}),h=e.signIn.session.value?.auth==="token",$=t.users.error.value?.status!==403;return l`<section aria-label="Users and tokens"><h2 class="head">${$?"Users and tokens":"My tokens"}<span class="grow"></span>
${!h&&l`<button class="text" data-ui="own-password" onClick=${()=>m("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${s} onInput=${f=>n(f.currentTarget.value)} /></h2>
${$&&l`<${ys} access=${t} onAct=${m} onGrants=${p} grantsOf=${r} />`}
${$&&l`<${ks} access=${t} onAct=${m} onGrants=${p} grantsOf=${r} />`}
${r&&l`<${xs} of=${r} access=${t} onAct=${m} />`}
<${Ts} access=${t} onAct=${m} />
${a&&l`<${Os} key=${`${a.id} ${a.target}`} id=${a.id} target=${a.target} access=${t} onRun=${b} onClose=${()=>o(null)} />`}
${c&&l`<${Ss} ...${c} onClose=${()=>u(null)} />`}</section>`}function ys({access:e,onAct:t,onGrants:a,grantsOf:o}){let s=e.users.value.value??[];return l`<${Me} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${s.length>0&&l`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><td></td></tr></thead>
<tbody>${s.map(n=>{let r=!n.State.startsWith("disabled");return l`<tr key=${n.User} data-ui="user" data-name=${n.User}><td><b>${n.User}</b></td><td>${n.Roles}</td><td>${n.State}</td><td>${at(n["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${o===n.User} onClick=${()=>a(n.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",n.User)}>Password…</button>
<button class="text" onClick=${()=>t(r?"disable":"enable",n.User)}>${r?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",n.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function ks({access:e,onAct:t,onGrants:a,grantsOf:o}){let s=e.roles.value.value??[];return l`<${Me} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${s.length>0&&l`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><td></td></tr></thead>
<tbody>${s.map(n=>{let r=n.State==="built in";return l`<tr key=${n.Role} data-ui="role" data-name=${n.Role}><td><b>${n.Role}</b></td><td>${n.Roles}</td><td>${n.State}</td>
<td class="r"><button class="text" aria-expanded=${o===n.Role} onClick=${()=>a(n.Role)}>Grants</button>
${!r&&l`<button class="text" onClick=${()=>t("dropRole",n.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function xs({of:e,access:t,onAct:a}){let o=t.grants.value.value;return l`<${Me} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>a("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>a("grantRole",e)}>Grant a role…</button><//>
${o&&l`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${o.map(s=>l`<tr key=${s} data-ui="granted"><td class="mono">${s}</td><td class="r">${tt(s)&&l`<button class="text" onClick=${()=>a("revoke",s)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${o?.length===0&&l`<p class="quiet none">${e} has no grants.</p>`}`}function Ts({access:e,onAct:t}){let a=e.tokens.value.value??[];return l`<${Me} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${a.length>0&&l`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><td></td></tr></thead>
<tbody>${a.map(o=>l`<tr key=${o.Id} data-ui="token" data-name=${o.Token}><td><b>${o.Token}</b><small>cw_${o.Id}</small></td><td class="mono">${o.Scope}</td><td>${o.State}</td>
<td>${at(o.Expires)||"never"}</td><td title=${o["Last address"]}>${at(o["Last used"])}</td><td>${o.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",o.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",o.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function Me({title:e,latest:t,children:a}){let o=t.value.value?.length??0;return l`<h3 class="head">${e}<span class="quiet">${o>=ge&&`the first ${ge}`}</span><span class="grow"></span>${a}</h3>
<${O} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function Os({id:e,target:t,access:a,onRun:o,onClose:s}){let n=sa[e],r=(a.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),i=c=>n.statement(t,oa(n,c));return l`<${je} name=${n.name} says=${n.says} asks=${n.asks} word=${n.typed?t:""}
choices=${{privileges:ta,role:r,scope:["ingest","query"],lifetime:aa}} patterns=${{target:na}} initial=${{expires:"90d"}}
statement=${i} latest=${a.action} onRun=${c=>o(n.statement(t,c),i(c),c)} onClose=${s} />`}function Ss({of:e,values:t,onClose:a}){let o=t.on?ra(location.origin,t,e.Token):"";return l`<${de} title=${`Token ${e.Name}`} onClose=${a}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
${o&&l`<p>A command that ${t.scope==="query"?"reads":"sends a row"} with it:</p><pre class="asked" data-ui="token-command" tabindex="0">${o}</pre>`}
<p class="acts"><button class="button main" onClick=${()=>G(e.Token)}>Copy</button>${o&&l`<button class="button" onClick=${()=>G(o)}>Copy the command</button>`}<button class="button" data-ui="secret-done" onClick=${a}>Done</button></p><//>`}var at=e=>e.slice(0,16).replace("T"," ");function Cs({stores:e}){let{prefs:t,signIn:a,place:o}=e;H(o.page.value==="settings"?B(o.here.value.params,{}):[]),y(()=>{document.title="Settings \xB7 cordwood"},[]);let s=a.session.value;return l`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${We} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${We} label="Times" value=${t.zone} choices=${_s()} ui="zone" />
<${We} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${We} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${n=>t.table.value=n.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(n=>n.db==="public").map(n=>l`<option value=${n.name}>${n.name}</option>`)}</select></label>
<${Rs} stores=${e} />
<div class="setting"><span>Searches</span><span>${g(t.history.value.length)} kept ${t.history.value.length>0&&l`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${s?.auth==="off"?"This server has no users: everybody may do everything.":l`<b>${s?.user??""}</b>${s?.auth==="token"&&", by a token"}`}</span></div>
${s&&s.auth!=="off"&&l`<${Es} api=${e.api} user=${s.user} />`}
${a.user.value&&l`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>a.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${s&&s.auth!=="off"&&l`<${da} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${s?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${s?.server?.version}</span></div>
<${As} api=${e.api} />
</section></div>`}function Rs({stores:e}){let{prefs:t,tables:a,api:o}=e,s=a.all.value.filter(d=>d.db==="public"),[n,r]=w(t.table.value),[i]=w(()=>C(q)),c=Ce(t,"public",[n]),u=s.some(d=>d.name===n);return y(()=>{if(!u)return;let d={db:"public",tables:[n],...Re(c)};i.run(p=>o.json({path:"/v1/explore/fields",body:d,signal:p}))},[n,u,c.message,c.level]),l`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?n:""} onChange=${d=>r(d.currentTarget.value)}>
<option value="">a table</option>${s.map(d=>l`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${O} latest=${i} what="Asking for the columns" />
${u&&i.value.value&&l`<${Ot} fields=${i.value.value.fields} roles=${c} onRole=${(d,p)=>t.roles.set(Se("public",[n]),{...c,[d]:p})} />`}`}function Es({api:e,user:t}){let[a]=w(()=>C(q));y(()=>{a.run(s=>e.json({path:"/v1/access/whoami",signal:s}),t)},[t]);let o=a.value.value;return l`<${O} latest=${a} what="Asking for your rights" />
${o&&l`<div class="setting" data-ui="own-grants"><span>May</span><span>${o.grants.length===0?"nothing yet: an administrator can grant rights.":l`<ul class="mono">${o.grants.map(s=>l`<li>${s}</li>`)}</ul>`}${o.ingest_only&&l`<p class="quiet">This token only sends rows.</p>`}</span></div>`}`}function _s(){return Object.fromEntries([...new Set([gt,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function We({label:e,value:t,choices:a,ui:o}){return l`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${o}><span>${e}</span><span class="choices-in-line">${Object.entries(a).map(([s,n])=>l`<label><input type="radio" name=${e} value=${s} checked=${t.value===s} onChange=${()=>t.value=s} />${n}</label>`)}</span></div>`}function As({api:e}){let[t]=w(()=>C(q));return y(()=>{t.run(async a=>(await e.send({path:"/config",signal:a,need:["MONITOR","CLUSTER"]})).text())},[]),l`<div class="setting"><span>Started with</span><${O} latest=${t} what="Asking for the settings" />${t.value.value&&l`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var Ds=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],ua=["ALTER","DROP","DELETE"],Ns=["INVERTED","SKIPPING","FULLTEXT"],pa=[{id:"ttl",needs:["ALTER"],name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${I(t)}`},{id:"column",needs:["ALTER"],name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:a})=>`ALTER TABLE ${e} ADD COLUMN ${S(t)} ${a}`},{id:"index",needs:["ALTER"],name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:a})=>`ALTER TABLE ${e} MODIFY COLUMN ${S(t)} SET ${a} INDEX`},{id:"rename",needs:["ALTER","DROP"],name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${S(t)}`,gone:!0},{id:"truncate",needs:["DELETE"],name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",needs:["DROP"],name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function ma(e,t,a){let o=_e(e,ua.map(s=>[s,Ee(t,a)]));return pa.filter(({needs:s})=>s.every(n=>o?.[ua.indexOf(n)]))}function $a({id:e,db:t,name:a,info:o,fields:s,stores:n,onClose:r}){let{table:i,tables:c,place:u}=n,d=pa.find(b=>b.id===e);async function p(b){let m=d.statement(S(a),b);await i.change(t,m)&&(te(`Done: ${m}`),r(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:b.to}:{db:t},{db:"public"}):await i.load(t,a))}return l`<${je} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?a:""}
choices=${{type:Ds,index:Ns,column:s.map(b=>b.name)}} initial=${{ttl:o?.ttl??"",to:a}}
statement=${b=>d.statement(S(a),b)} latest=${i.action} onRun=${p} onClose=${r}>
${d.typed&&o&&l`<p><b>${t}.${a}</b> ${o.sized?`has ${g(o.rows)} ${o.rows===1?"row":"rows"}, ${x(o.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function ha({db:e,name:t,info:a,stores:o,onClose:s}){let{table:n,prefs:r,signIn:i}=o,[c,u]=w("");y(()=>{n.load(e,t)},[e,t]);let d=n.latest.value.value,p=r.zone.value,b=e==="svc_private"||e==="information_schema",m=ma(i,e,t);return l`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!b&&m.length>0&&l`<${oe} button=${l`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${h=>m.map(({id:$,name:f})=>l`<button class="choice" data-ui=${`do-${$}`} onClick=${()=>{h(),u($)}}>${f}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${s}>✕</button></div>
<${xe} since=${n.latest.since.value} onCancel=${n.latest.cancel} />
<div class="scrolled">
${a&&l`<${Ls} info=${a} lastRow=${d?.fields?d.lastRow??"none":""} zone=${p} />`}
<p class="acts"><a class="text go" href=${V("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${V("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${V("sql",{db:e,q:`SELECT * FROM ${S(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${O} latest=${n.latest} what="Asking for the table" />
${d&&l`${d.refused.map(({what:h,error:$})=>l`<p class="quiet none" data-ui="refused">${h} not shown: ${$.message}</p>`)}
${d.fields&&l`<${qs} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&l`<${Is} segments=${d.segments} zone=${p} />`}
${d.ddl!==null&&l`<${Ps} ddl=${d.ddl} />`}`}
</div>
${c&&l`<${$a} id=${c} db=${e} name=${t} info=${a} fields=${d?.fields??[]} stores=${o} onClose=${()=>u("")} />`}
</section>`}function Ps({ddl:e}){return l`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>G(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${Et(e).map(t=>t.kind==="key"?l`<b>${t.text}</b>`:t.text)}</pre>`}function Ls({info:e,lastRow:t,zone:a}){let o=[["rows",e.sized&&g(e.rows)],["bytes",e.sized&&`${x(e.bytes)}${e.rows>0?`, ${x(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${L(t,a)}, ${z(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return l`<dl>${o.map(([s,n])=>n&&l`<div><dt>${s}</dt><dd>${n}</dd></div>`)}</dl>`}function qs({fields:e,rows:t}){return l`<h3 class="head">Columns<span class="quiet">${g(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(a=>{let o=[...new Set(t.map(s=>mt(s.v[a.name])).filter(Boolean))];return l`<tr><td>${a.name}${a.role&&l`<small>${a.role}</small>`}</td><td>${a.type}</td><td>${a.index??""}</td>
<td class="r">${Math.round(a.fill*100)} %</td><td class="samples" title=${o.join(", ").slice(0,500)}>${ne(o.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Is({segments:e,zone:t}){if(e.length===0)return l`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let a=Math.min(...e.map(i=>Date.parse(i.from))),o=Math.max(...e.map(i=>Date.parse(i.to))),s=Math.max(...e.map(i=>i.rows)),n=i=>o>a?(Date.parse(i)-a)/(o-a)*100:0,r=e.reduce((i,c)=>i+c.bytes,0);return l`<h3 class="head">Segments<span class="quiet">${g(e.length)}, ${x(r)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${L(e[e.length-1].from,t)} to ${L(e[0].to,t)}`}>${e.map(i=>l`<i key=${i.file} title=${`${g(i.rows)} rows, ${x(i.bytes)}, ${L(i.from,t)} \u2013 ${L(i.to,t)}`}
style=${{left:`${n(i.from)}%`,width:`max(2px, ${n(i.to)-n(i.from)}%)`,height:`${Math.max(4,i.rows/s*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${L(new Date(a).toISOString(),t)}</span><span>${L(new Date(o).toISOString(),t)}</span></p>`}var fa=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function js({stores:e}){let{tables:t,place:a}=e,o=a.here.value.params,[s,n]=[o.get("db")??"public",o.get("t")??""];H(a.page.value==="tables"?B(o,{db:null,t:null}):[]);let[r,i]=w(""),[c,u]=w({by:"name",down:!1});y(()=>{t.load()},[t]),y(()=>{document.title=n?`${s}.${n} \xB7 cordwood`:"Tables \xB7 cordwood"},[s,n]),y(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d($,f){a.set("tables",{db:$,t:f},{db:"public"})}let p=t.all.value,b=ut(()=>Ws(p,r,c),[p,r,c]),m=n?p.find($=>$.db===s&&$.name===n):void 0,h=t.latest.value.value!==null;return l`<h1 class="hidden">Tables</h1>
<${xe} since=${h?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${n?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${r}
onInput=${$=>i($.currentTarget.value)} />
<span class="quiet">${h&&Ms(p,b)}</span></div>
<${O} latest=${t.latest} what="Asking for the tables" />
${h&&p.length===0&&l`<${St} signIn=${e.signIn} />`}
${p.length>0&&l`<${Us} shown=${b} sort=${c} onSort=${u} selected=${m} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${n&&(m||!h?l`<${ha} key=${`${s}.${n}`} db=${s} name=${n} info=${m} stores=${e} onClose=${()=>d("","")} />`:l`<section class="pane detail" aria-label="Table"><${U} title=${`There is no table ${s}.${n}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function Ms(e,t){let a=t.reduce((s,n)=>s+n.bytes,0);return`${e.length===t.length?`${g(e.length)} ${e.length===1?"table":"tables"}`:`${g(t.length)} of ${g(e.length)} tables`}, ${x(a)}`}function Ws(e,t,a){let o=t.trim().toLowerCase(),s=fa.find(([i])=>i===a.by)?.[2]??(i=>`${i.db}.${i.name}`),n=new Intl.Collator("en",{numeric:!0}),r=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(o));return r.sort((i,c)=>{let[u,d]=[s(i),s(c)];return typeof u=="number"&&typeof d=="number"?u-d:n.compare(String(u),String(d))}),a.down?r.reverse():r}function Us({shown:e,sort:t,onSort:a,selected:o,onOpen:s,lastRows:n}){let r=re();y(()=>n.stop,[n]);let i=fa.map(([u,d,p,b])=>{if(!p)return l`<span class=${b}>${d}</span>`;let m=t.by===u;return l`<button class=${b} aria-pressed=${m} title=${`Sort by ${d}`}
onClick=${()=>a({by:u,down:m?!t.down:b.startsWith("r")})}>${d}${m&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],p=d===o;return l`<div class=${`row tablerow ${p?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${p} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>s(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&g(d.rows)}</span><span class="r" role="gridcell">${d.sized&&x(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${n.of(d)}>${Fs(n.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?x(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return l`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${vt} count=${e.length} height=${r?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{n.see(r?[]:e.slice(u,d))}}
focus=${o?e.indexOf(o):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Fs(e){return e===void 0?"":e?`${z(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function st(){return{items:[],sizes:[],size:0,dropped:0}}function nt(e,t,a,o,s){e.items.push(...t),e.sizes.push(...a),e.size+=a.reduce((i,c)=>i+c,0);let n=Math.max(0,e.items.length-o),r=e.size;for(let i=0;i<n;i++)r-=e.sizes[i];for(;r>s&&n<e.items.length-1;)r-=e.sizes[n++];n!==0&&(e.items.splice(0,n),e.sizes.splice(0,n),e.size=r,e.dropped+=n)}var va=[1e3,1e4],ba=16<<20,zs=100,Bs=3e3,Gs=4001,ga=2e3;function wa({api:e,place:t,prefs:a,clock:o,session:s}){let n=F(()=>t.here.value.params),r=F(()=>({db:n.value.get("db")??"public",table:n.value.get("t")??a.table.value,q:n.value.get("q")??"",wrap:n.value.get("wrap")==="1"})),i=F(()=>{let T=Ce(a,r.value.db,[r.value.table]);return{message:n.value.get("message")||T.message,level:n.value.get("level")||T.level}}),c=F(()=>a.columns.get(Se(r.value.db,[r.value.table]))??[]),u=E(""),d=()=>JSON.stringify([t.page.value,r.value.db,r.value.table,r.value.q]),p=At(s,d,"cordwood.tail");pt(()=>p.keep("draft",u.value));let b="",m=C(o),h=st(),$=E({count:0,dropped:0,still:!1}),f=E(null),k=E(!1),v=E(""),D=E(null),ie=E([]),j=E(0),Z=E(1e4),ae=new Set,M=null,Pa=F(()=>Ae(m.value.value)),Ue=()=>h.dropped+h.items.length,Y=null,rt=()=>f.value&&Y?Y:h.items,La=F(()=>t.page.value!=="tail"?[]:B(n.value,{db:null,t:null,q:null,wrap:null,message:null,level:null})),Fe=()=>m.error.value?.code===Gs,qa=()=>!k.value&&!Fe()&&(v.value!==""||m.error.value!==null);async function Ia(T=""){ct();let _=new AbortController;M=_;let{db:A,table:N,q:W}=r.value,P=Re(i.value);if(ce(()=>{d()!==b&&(u.value=p.take("draft")??W),b=d(),v.value="",D.value=null,ie.value=[],k.value=!1}),!N)return;let R=()=>m.run(se=>e.json({path:"/v1/explore/fields",body:{db:A,tables:[N],...P},signal:se}));for(await R();M===_&&Fe();)await o.wait(ga,_.signal).catch(()=>{}),T=`${2*ga/1e3}s`,M===_&&await R();if(!(M!==_||m.error.value))for(let se=0;M===_;){let Ge=await ja(_,Hs({db:A,table:N,search:W,since:T,...P}));if(M!==_||!Ge||(v.value=Ge.text,k.value&&(se=0),k.value=!1,!Ge.again))return;T=`${Math.ceil((o.now()-lt)/1e3)+1}s`,await o.wait(Math.min(1e3*2**se++,1e4),_.signal).catch(()=>{})}}let lt=o.now();async function ja(T,_){try{let A=await e.send({path:_,signal:T.signal});k.value=!0,v.value="";for await(let{values:N,sizes:W}of De(A.body)){if(M!==T)return null;lt=o.now();let P=N[N.length-1];if(P&&"code"in P&&"error"in P&&Object.keys(P).length===2)return Vs(P);Ma(N,W)}return{text:"The server ended the tail. Reconnecting.",again:!0}}catch(A){if(ue(A))return null;let{status:N,at:W,nearest:P}=A;D.value=W??null,ie.value=P??[];let R=N===0||N===void 0||N===503;return{text:`${A.message}${R?" Trying again.":""}`,again:R}}}function Ma(T,_){let A=T.map((R,se)=>({row:R,size:_[se]})).filter(({row:R})=>!ae.has(R.id));for(let{row:R}of A)ae.add(R.id);let N=h.items.slice(0,A.length).concat(A.map(({row:R})=>R)),W=h.dropped,P=f.value&&!Y?h.items.slice():null;nt(h,A.map(({row:R})=>R),A.map(({size:R})=>R),Z.value,ba);for(let R of N.slice(0,h.dropped-W))ae.delete(R.id);P&&h.dropped>W&&(Y=P),ve+=A.length,it()}let ve=0,we=o.now(),ze=!1,Be;function it(){clearTimeout(Be),Be=setTimeout(()=>{j.value=ve=0,we=o.now()},Bs),!ze&&(ze=!0,setTimeout(()=>{ze=!1;let T=o.now();T-we>=1e3&&(j.value=Math.round(ve*1e3/(T-we)),ve=0,we=T),$.value={count:rt().length,dropped:f.value&&Y?$.value.dropped:h.dropped,still:!!(f.value&&Y)}},zs))}function ct(){M?.abort(),M=null,k.value=!1,j.value=0,clearTimeout(Be)}return{isMissing:Fe,stopped:qa,fault:D,nearest:ie,ignored:La,state:r,draft:u,fields:m,shape:Pa,drawn:$,held:f,live:k,ended:v,rate:j,most:Z,marks:F(()=>kt(r.value.q)),at:T=>rt()[T]??null,columns:c,roles:i,replaceFault:T=>D.value?xt(r.value.q,D.value,T):r.value.q,wholeRow:({id:T,table:_})=>e.json({path:"/v1/explore/row",body:{db:r.value.db,table:_,id:T}}),fresh:()=>f.value?Ue()-f.value.seen:0,follow:Ia,stop:ct,hold(){f.value??={at:o.now(),seen:Ue()}},mark(){let T=o.now();nt(h,[{id:`mark ${T} ${Ue()}`,time:new Date(T).toISOString(),table:"",v:{},mark:!0}],[40],Z.value,ba),f.value&&(f.value={...f.value,seen:f.value.seen+1}),it()},release(){f.value=null,Y=null,$.value={count:h.items.length,dropped:h.dropped,still:!1}},clear(){Object.assign(h,st()),ae.clear(),f.value=null,Y=null,$.value={count:0,dropped:0,still:!1}},set(T,_){let{db:A,table:N,q:W,wrap:P}=r.value;t.set("tail",{db:A,t:N,q:W,wrap:P?"1":"",...T.t?{}:i.value,...T},{db:"public"},_)}}}function Hs(e){let t=new URLSearchParams({shape:"row"});for(let[a,o]of Object.entries(e))o&&t.set(a,o);return`/v1/tail?${t}`}function Vs(e){return e.code===6001?{text:"The browser was too slow: some rows are missing here, but not in the table. Reconnecting.",again:!0}:{text:e.error,again:e.code===4008||e.code===5003}}function Ks({stores:e}){let{tail:t,prefs:a,tables:o}=e,s=t.state.value,n=re(),[r,i]=w(null);y(()=>{t.clear(),i(null),s.table&&(a.table.value=s.table),t.follow(),document.title=`tail ${s.table} \xB7 cordwood`},[s.db,s.table,s.q]),Qs(t),H(t.ignored.value),y(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>ya(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function c($){if(i($),!$.cut)return;let f=await t.wholeRow($).catch(()=>null);f&&i(k=>k?.id===$.id?f:k)}function u(){t.draft.value===s.q&&t.stopped()?t.follow():t.set({q:t.draft.value})}let{count:d,dropped:p,still:b}=t.drawn.value,m=t.held.value,h=a.zone.value;return l`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${$=>{$.preventDefault(),u()}}
>
<${Ct}
db=${s.db}
tables=${s.table?[s.table]:[]}
all=${o.all.value}
single
onPick=${($,f)=>t.set({db:$,t:f[f.length-1]})}
/>
<${Rt}
text=${t.draft.value}
onText=${$=>t.draft.value=$}
onRun=${u}
fault=${t.draft.value===s.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${a.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!m?"":"bad"}`}></span>${m?`Held at ${Te(m.at,h).time}`:t.live.value?`Live \xB7 ${g(t.rate.value)} rows/s`:"Not connected"}</span
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
onClick=${()=>ya(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${$=>t.most.value=Number($.currentTarget.value)}
>
${va.map($=>l`<option value=${$}>${g($)}</option>`)}
</select></label
>
<span class="grow"></span>
${m&&l`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${g(t.fresh())} new rows</button>`}
${p>0&&l`<span class="quiet" data-ui="tail-dropped">${g(p)} older rows are in the table only</span>`}
${b&&l`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${ka(t)}
>Explore this</a
>
</div>
${t.ended.value&&l`<${Js} tail=${t} />`}
${!t.isMissing()&&l`<${O} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${r?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows" onMouseDown=${$=>{$.target.closest("[data-ui=row]")&&t.hold()}}>
${d===0?l`<${U}
title=${Ys(t)}
>
${t.isMissing()&&l`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${s.table&&!t.isMissing()&&!t.stopped()&&l`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:l`<${Oe}
count=${d}
at=${t.at}
shape=${t.shape.value}
columns=${ht(n,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${h}
density=${a.density.value}
narrow=${n}
label=${`${d} rows, newest last`}
selected=${r?.id??""}
dropped=${p}
follow=${!m}
wrap=${s.wrap}
onEnd=${$=>!$&&t.hold()}
onOpen=${$=>{t.hold(),$.id===r?.id?i(null):c($)}}
/>`}
</section>
${r&&l`<${Tt}
row=${r}
shape=${t.shape.value}
zone=${h}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${$=>t.set({q:wt(s.q,$)})}
onWithout=${$=>t.set({q:yt(s.q,$)})}
onClose=${()=>i(null)}
/>`}
</div>`}function Js({tail:e}){let[t,a]=[e.fault.value,e.nearest.value];return l`<div class="banner" role="alert" data-ui="banner">${e.ended.value}
${a.map(o=>l` <button class="text go" data-ui="nearest" onClick=${()=>e.set({q:e.replaceFault(o)})}>${o}</button>`)}
${!t&&l` <button class="text go" data-ui="retry" onClick=${()=>e.follow()}>Follow again</button> <a class="text go" href=${ka(e)}>Show them in Explore</a>`}</div>`}function Ys(e){let{table:t}=e.state.value;return t?e.isMissing()?`There is no table ${t} yet.`:e.stopped()?`${t} is not followed.`:`Waiting for new rows in ${t}.`:"Choose a table to follow."}function ya(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function ka(e){let{db:t,table:a,q:o}=e.state.value;return V("explore",{db:t,t:a,q:o,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function Qs(e){y(()=>{let t,a=0,o=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{a=Date.now(),e.stop()},3e4);else if(a){let n=`${Math.ceil((Date.now()-a)/1e3)+30}s`;a=0,e.follow(n)}},s=()=>{let n=getSelection();n&&!n.isCollapsed&&n.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",o),document.addEventListener("selectionchange",s),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",o),document.removeEventListener("selectionchange",s),e.stop()}},[e])}async function*Oa(e,t){for(let a=0;a<e.size;){let o=t,s=await Ta(e,a,o),n=s.lastIndexOf(xa)+1;for(;n===0&&a+s.length<e.size;)o*=2,s=await Ta(e,a,o),n=s.indexOf(xa)+1;(n===0||o===t&&a+s.length>=e.size)&&(n=s.length),a+=n,yield{text:new TextDecoder().decode(s.subarray(0,n)),end:a}}}var xa=10;async function Ta(e,t,a){return new Uint8Array(await e.slice(t,t+a).arrayBuffer())}function Sa(e){let t=e.slice(0,Math.max(e.indexOf(`
`),0)||e.length).trim();try{let a=JSON.parse(t);if(typeof a=="object"&&a!==null&&!Array.isArray(a))return"application/x-ndjson"}catch{}return"text/plain"}var Xs=1<<20,Zs=50,en=5;function Ca({api:e,clock:t}){let a=E([]),o=E(0),s=E(""),n=E(null),r=new AbortController,i=new AbortController;async function c(b,m){r.abort(),r=new AbortController;let{signal:h}=r;ce(()=>{a.value=[],o.value=0,s.value=m});let $=new URLSearchParams({db:b,table:m,shape:"row",since:"60s"});for(;!h.aborted;){try{let f=await e.send({path:`/v1/tail?${$}`,signal:h});f.body&&await u(f.body)}catch(f){if(ue(f))return}await t.wait(1e3,h).catch(()=>{})}}async function u(b){for await(let{values:m}of De(b)){let h=m.filter($=>$.id);h.length!==0&&ce(()=>{o.value+=h.length,a.value=[...a.value,...h].slice(-Zs)})}}async function d(b,{db:m,table:h,pipeline:$}){i.abort(),i=new AbortController;let{signal:f}=i;n.value={name:b.name,size:b.size,sent:0,rows:0,refused:0,reasons:[],error:"",done:!1};let k=an(),v=new URLSearchParams({db:m,table:h,pipeline_name:$,skip_error:"true"}),D="",ie=0;try{for await(let{text:j,end:Z}of Oa(b,Xs)){D||=Sa(j);let ae={"content-type":D,"Idempotency-Key":`${k}-${ie++}`},M=await p({path:`/v1/ingest?${v}`,method:"POST",text:j,headers:ae,signal:f});n.value=tn(n.value,Z,M)}n.value={...n.value,done:!0}}catch(j){let Z=ue(j)?"Cancelled: what was sent stays.":j instanceof Error?j.message:String(j);n.value={...n.value,error:Z,done:!0}}}async function p(b){for(let m=0;;m++)try{return await e.json(b)}catch(h){if(!(h instanceof $t&&(h.status===0||h.status===429||h.status===503))||m>=5)throw h;await t.wait(h.retryAfter*1e3||1e3*2**m,b.signal)}}return{rows:a,count:o,waits:s,sending:n,follow:c,stop:()=>r.abort(),send:d,cancel:()=>i.abort()}}function tn(e,t,a){let o=(a.output??[]).reduce((r,i)=>r+(i.affectedrows??0),e.rows),s=(a.skipped?.reasons??[]).map(r=>r.error),n=[...new Set([...e.reasons,...s])].slice(0,en);return{...e,sent:t,rows:o,refused:e.refused+(a.skipped?.count??0),reasons:n}}function an(){return[...crypto.getRandomValues(new Uint8Array(12))].map(e=>e.toString(16).padStart(2,"0")).join("")}function Ra({api:e,explore:t,clock:a}){let o=C(a),s=C(a),n=F(()=>{let{afrom:r,ato:i,bq:c}=t.state.value,u=t.range.value;if(!u)return null;if(r&&i)return{a:{from:r,to:i},b:{from:u.from,to:u.to},rest:!0};if(c)return{a:u,b:{...u,query:c},rest:!1};let[d,p]=[Date.parse(u.from),Date.parse(u.to)];return{a:{from:u.from,to:u.to},b:{from:new Date(2*d-p).toISOString(),to:u.from},rest:!1}});return{patterns:o,comparison:s,sets:n,loadPatterns:r=>o.run(i=>e.json({path:"/v1/explore/patterns",body:{...t.scope(),field:r||void 0,limit:200,before:!0},signal:i})),async compare(){let r=n.value;if(!r)return;let i=t.scope(),c={a:{...i,...r.a},b:{...i,...r.b},rest:r.rest,top:20};await s.run(u=>e.json({path:"/v1/explore/compare",body:c,signal:u}))}}}var sn=3,nn=200,on=6e4;function Ea(e,t){let a=E({}),o=new Map,s=null;async function n(r,i){for(let c=r.shift();c&&!i.aborted;c=r.shift()){let u=ot(c);o.set(u,t.now());try{let{last_row:d}=await e.json({path:"/v1/explore/fields",body:{db:c.db,tables:[c.name]},signal:i});a.value={...a.value,[u]:d??""}}catch{o.delete(u)}}}return{of:r=>a.value[ot(r)],async see(r){s?.abort();let i=new AbortController;s=i;let c=r.filter(u=>t.now()-(o.get(ot(u))??-1/0)>on);c.length!==0&&(await t.wait(nn,i.signal).catch(()=>{}),!i.signal.aborted&&await Promise.all(Array.from({length:sn},()=>n(c,i.signal))))},stop:()=>s?.abort()}}function ot({db:e,name:t}){return JSON.stringify([e,t])}var _a=["MONITOR","CLUSTER"];function Aa(e,t){let a=C(t,{once:!0}),o=C(t),s=C(t,{once:!0}),n=C(t),r=E("");return{start:a,plan:o,list:n,cancelling:s,asks:r,clear(){a.cancel(),a.value.value=null,a.error.value=null,r.value=""},async begin(i){await a.run(u=>e.json({path:"/v1/cluster/operations",body:i,signal:u}));let c=a.value.value;return r.value=c?.confirm??"",!a.error.value&&c!==null&&!c.confirm&&!c.removal},loadList:()=>n.run(async i=>(await e.json({path:"/v1/cluster/operations",signal:i,need:_a})).operations),loadPlan:()=>o.run(i=>e.json({path:"/v1/cluster/plan",signal:i,need:_a})),cancel:i=>s.run(c=>e.json({path:`/v1/cluster/operations/${i}`,method:"DELETE",signal:c}))}}var rn=2e3;function Na(e,t){let a=C(t),o=C(t,{once:!0});return{latest:a,action:o,load:(s,n)=>a.run(async r=>{let i={db:s,tables:[n]},c=[],u=(h,$)=>$.catch(f=>{if(f.status!==403)throw f;return c.some(k=>k.error.message===f.message)||c.push({what:h,error:f}),null}),[d,p,b,m]=await Promise.all([u("The columns are",e.json({path:"/v1/explore/fields",body:i,signal:r})),u("The newest values are",e.json({path:"/v1/explore/rows",body:{...i,limit:3,max_value_bytes:200},signal:r})),u("The statement is",e.sql(`SHOW CREATE TABLE ${S(n)}`,{signal:r,db:s})),u("The segments are",e.sql(ln(s,n),{signal:r,need:["MONITOR","CLUSTER"]}))]);if(!d&&!b&&!m)throw c[0].error;return{ddl:b&&String(b.rows[0]?.[1]??""),fields:d&&d.fields,lastRow:d&&d.last_row,rows:p?.rows??[],segments:m&&m.rows.map(cn),refused:c}},JSON.stringify([s,n])),async change(s,n){return await o.run(r=>e.sql(n,{signal:r,db:s})),o.error.value===null}}}function ln(e,t){return`SELECT file, shard_id, rows, bytes, min_time, max_time FROM svc_private.segments WHERE table_schema = ${I(e)} AND table_name = ${I(t)} ORDER BY min_time DESC LIMIT ${rn}`}function cn([e,t,a,o,s,n]){return{file:String(e),shard:Number(t),rows:Number(a),bytes:Number(o),from:Da(s),to:Da(n)}}function Da(e){let t=Number(e);return Number.isFinite(t)?new Date(t/1e3).toISOString():String(e)}function dn(e){let{api:t,explore:a,place:o,prefs:s}=e;return{...Dt(e),access:ca(t,q),adding:Ca({api:t,clock:q}),analysis:Ra({api:t,explore:a,clock:q}),lastRows:Ea(t,q),operations:Aa(t,q),table:Na(t,q),tail:wa({api:t,place:o,prefs:s,clock:q,session:sessionStorage})}}export{Qa as AddPage,gs as ClusterPage,Fa as Compare,Ga as Patterns,Wa as RejectsPage,Cs as SettingsPage,js as TablesPage,Ks as TailPage,dn as makeStores};
